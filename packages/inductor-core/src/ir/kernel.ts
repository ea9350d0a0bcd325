/**
 * @file Fused kernels: the unit that a backend turns into code.
 *
 * Five shapes cover everything:
 *
 * - `LoopKernel`: a nest of parallel `outer` loops; for each outer point its stages run in order. An
 *   `inner` stage loops over all `inner` variables and may reduce; an `outer` stage runs once. So
 *   softmax is [inner: max] [inner: sum of exp] [inner: store], and a pointwise kernel is one outer
 *   stage with no inner variables. A running reduction is a scan: each inner point has its result. Where nothing is
 *   reduced, inner points follow each other in order: two of them may store to one place (a scatter). So may outer
 *   points whose stores combine with what lies there.
 * - `MatmulKernel`: `acc[b,m,n] = Σ_k a(b,m,k) · b(b,k,n)` where both operands are arbitrary expressions
 *   (the prologue) and the epilogue stores any expressions of `acc`. A convolution is a matmul whose
 *   operand is a masked load at image coordinates (implicit GEMM); m, n and k are lists of loop
 *   variables so that such indices need no division.
 * - `AttentionKernel`: products into weights into products, without memory for the weights: attention (the weights
 *   are a softmax of the scores), and its gradients.
 * - `RecurrenceKernel`: vectors that step after step become others, by matrix products and expressions: a layer of an
 *   LSTM, and its gradients.
 * - `ExternKernel`: a call of an operator's reference kernel, for operators without a lowering.
 *
 * Kernels name their buffers and scalars as parameters; a plan's launches bind them. Two launches of
 * the same kernel text share it.
 *
 * A kernel with symbolic sizes (`LoopKernel<Size>`) stands for one kernel per choice of them: `kernelAt` gives it.
 * Trip counts, coefficients and divisors of indices, and what `index` expressions give may then be expressions of the
 * sizes; the sizes are those of the plan (plan-template.ts).
 *
 * Invariants (checked by `verifyKernel`): every `load`/`store` names a parameter with the right access;
 * every symbol is a loop variable in scope; an `acc` is read only in a stage after the one that
 * reduces it; a buffer in which stores combine is accessed by one store alone; within one kernel any other buffer that is both read and written is read only at the index at
 * which it is written, by the same (outer, inner) point, before the write; and an inner stage with a
 * reduction of two results (`welford`, `online_softmax`) writes nothing that its reductions read, so that
 * it may run in two passes.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr, Stmt } from './expr.js';
import type { LoopVar } from './index-expr.js';

/** A buffer that a kernel reads or writes, under the name its expressions use. */
export interface BufferParam {
  readonly name: string;
  readonly dtype: DType;
  readonly access: 'read' | 'write' | 'readwrite';
}

/** A runtime scalar, under the name its expressions use. */
export interface ScalarParam {
  readonly name: string;
  readonly dtype: DType;
}

interface KernelBase {
  /** Unique within a plan and a valid identifier in every target: `fused_mul_sum_0`. */
  readonly name: string;
  readonly params: readonly BufferParam[];
  readonly scalars: readonly ScalarParam[];
}

/** Statements run once per outer point, or for every inner point. */
export interface Stage {
  readonly kind: 'outer' | 'inner';
  readonly body: readonly Stmt[];
}

/** See the file header. The outermost variable comes first; the last one moves fastest. */
export interface LoopKernel<S extends Size = number> extends KernelBase {
  readonly kind: 'loop';
  readonly outer: readonly LoopVar<S>[];
  readonly inner: readonly LoopVar<S>[];
  readonly stages: readonly Stage[];
}

/** See the file header. An empty list of variables is an extent of one. */
export interface MatmulKernel<S extends Size = number> extends KernelBase {
  readonly kind: 'matmul';
  readonly batch: readonly LoopVar<S>[];
  readonly m: readonly LoopVar<S>[];
  readonly n: readonly LoopVar<S>[];
  readonly k: readonly LoopVar<S>[];
  readonly a: Expr;
  readonly b: Expr;
  /** Type of the accumulator: float32 for f32/f16/bf16 inputs. */
  readonly accDtype: DType;
  /** Stores only, over batch, m and n; `acc` 0 is the product. */
  readonly epilogue: readonly Stmt[];
}

/** Sums that weights are made of: `acc[b, m, j] = Σ_k a(b, m, k) · b(b, j, k)`. */
export interface ScoreProduct {
  readonly a: Expr;
  readonly b: Expr;
}

/** Sums over m, results over batch, j and n: `acc[b, j, n] = Σ_m weights[weight](b, m, j) · value(b, m, n)`. */
export interface ColumnSum {
  readonly weight: number;
  readonly value: Expr;
}

/**
 * Results `q` over batch, m and n: `acc q = Σ_j weights[q](b, m, j) · values[q](b, j, n)`.
 *
 * Weights are expressions of the `scores`, which are `acc` 0, 1, … there. With `softmax` they are logits instead, and
 * the weights are their softmax along j, zero where all of a row are -∞; `acc` 0 of `rowStores` is its log Σ exp then.
 */
export interface AttentionKernel<S extends Size = number> extends KernelBase {
  readonly kind: 'attention';
  readonly batch: readonly LoopVar<S>[];
  readonly m: readonly LoopVar<S>[];
  readonly j: readonly LoopVar<S>[];
  readonly k: readonly LoopVar<S>[];
  readonly n: readonly LoopVar<S>[];
  readonly scores: readonly ScoreProduct[];
  readonly weights: readonly Expr[];
  readonly values: readonly Expr[];
  /** Without a softmax only. */
  readonly columnSums: readonly ColumnSum[];
  readonly softmax: boolean;
  /** Which weights may be other than zero: of the last j up to m, from m on, or all. m is one variable then. */
  readonly triangle: Triangle;
  /** Type of all sums. */
  readonly accDtype: DType;
  /** Stores over batch, m and n. */
  readonly epilogue: readonly Stmt[];
  /** Stores over batch and m. */
  readonly rowStores: readonly Stmt[];
  /** Stores over batch, j and n; `acc` c is column sum c there. */
  readonly columnStores: readonly Stmt[];
  /**
   * Stores over batch, m and j; `acc` q is weight q there. Without a softmax only. Outside of the triangle they may happen or
   * not: whoever reads what is stored reads the triangle.
   */
  readonly weightStores: readonly Stmt[];
}

/** See `AttentionKernel`. */
export type Triangle = 'lower' | 'upper' | 'none';

/** A vector that changes from step to step. */
export interface RecurrentState {
  /** Over batch and n, before the first step. */
  readonly initial: Expr;
  /** Over batch, step and n: what it is after a step. */
  readonly next: Expr;
}

/** A part of a product: `Σ_k weight(n, k) · vectors[vector](k)`. */
export interface RecurrentTerm {
  readonly vector: number;
  /** Over n and k. */
  readonly weight: Expr;
}

/**
 * For each point of batch, one step after another: with S states, `acc` s is state s as it is before the step, and
 * `acc` S + p is product p, the sum of its terms. `vectors` are expressions of the states, `stores` and what states are
 * next of states and products. `lastStores` come after the last step, when `acc` s is what state s has become.
 */
export interface RecurrenceKernel<S extends Size = number> extends KernelBase {
  readonly kind: 'recurrence';
  readonly batch: readonly LoopVar<S>[];
  readonly step: readonly LoopVar<S>[];
  /** Units: their number is known. */
  readonly n: readonly LoopVar[];
  /** As long as n. */
  readonly k: readonly LoopVar[];
  readonly states: readonly RecurrentState[];
  /** Over batch, step and n. */
  readonly vectors: readonly Expr[];
  readonly products: readonly (readonly RecurrentTerm[])[];
  /** Type of states, vectors and products. */
  readonly accDtype: DType;
  /** Stores over batch, step and n. */
  readonly stores: readonly Stmt[];
  /** Stores over batch and n. */
  readonly lastStores: readonly Stmt[];
}

/** An argument of an extern call: a buffer with its layout, a list of those, or a plain value. */
export type ExternArg<S extends Size = number> =
  | {
      readonly kind: 'buffer';
      readonly name: string;
      readonly sizes: readonly S[];
      readonly strides: readonly S[];
      readonly offset: S;
    }
  | { readonly kind: 'list'; readonly items: readonly ExternArg<S>[] }
  | { readonly kind: 'scalar'; readonly name: string }
  | {
      readonly kind: 'value';
      readonly value: S | string | boolean | null | readonly S[] | readonly boolean[];
    };

/** A call of a reference kernel: `outputs` are buffer arguments that it fills. */
export interface ExternKernel<S extends Size = number> extends KernelBase {
  readonly kind: 'extern';
  /** Full overload name, `aten::topk`. */
  readonly op: string;
  readonly args: readonly ExternArg<S>[];
  readonly outputs: readonly Extract<ExternArg<S>, { kind: 'buffer' }>[];
}

/** A unit of generated code and of launch. */
export type FusedKernel<S extends Size = number> =
  LoopKernel<S> | MatmulKernel<S> | AttentionKernel<S> | RecurrenceKernel<S> | ExternKernel<S>;
