/**
 * @file `ScheduledKernel`: a fused kernel as the program that a machine runs, as plain data.
 *
 * It stands between a `FusedKernel`, which says what is computed at which points, and text. Every choice is made in
 * it: who visits which points and in which order, what lies side by side in a vector, where partial results are kept
 * and how they come together. An emitter spells statements and expressions and chooses nothing.
 *
 * ```
 * scheduled fused_relu_sum_0
 *   grid group: 64
 *   threads lane: 32
 *   shared shared_0: f32[32]
 *   accumulator sum of acc0
 *   let point = group
 *   start sum
 *   loop r from lane to 1024 by 32
 *     let r0 = r*4
 *     vector r0 + 0..3
 *       update sum with maximum(in0[r0], 0)
 *   part sum
 *   fold sum
 *   combine …
 *   finish sum
 *   when lane is 0
 *     out0[point] = acc0
 * ```
 *
 * | role of an axis | where it stands |
 * |---|---|
 * | grid | `grid`: instances of the body that know nothing of each other, in any order |
 * | thread | `threads`: instances that share arrays and wait for each other at barriers |
 * | vector, unrolled | `vector`: a statement happens for all its elements before the next one does |
 * | serial | `loop`, which may be `unrolled`: text has a copy of the body for each of its steps |
 *
 * **Variables** are integers: axes of grid and threads, what `loop` and `let` define. The loop variables of the fused
 * kernel are among them, so its expressions are used as they are. Inside `vector` the variables of its lanes differ from
 * element to element, and so does what a `let` there makes of them. Extents and bounds are sizes: numbers, or expressions
 * of symbols.
 *
 * **Values** are the fused kernel's expressions. Where a value is computed is the emitter's business, as long as it is
 * what it would be at the statement that needs it: memory that the kernel also writes is read at no other index than that
 * of the write. Loads of elements that are not valid may happen and may give anything; checks of such elements do not
 * report.
 *
 * **Scratch arrays** are the exception: loads and stores name them as they name buffers, and a statement reads what those
 * before it wrote. So their loads stay behind the loops that fill them, and threads of an instance meet in between. An
 * element is stored to behind the last statement that needs what was there: emitters may have loaded it before.
 * `keep` and `recall` use them for values that several loops need.
 *
 * **Accumulators** hold the state of one reduction (`Reduction`), for each thread and for each element of the vectors
 * that they are updated in. `start` … `update` … `part` … `finish`: after `part` there are parts, which `fold` brings
 * together over the elements of a vector and `merge` with those of other threads; after `finish` the results `ids` are
 * known. A running accumulator's results are known after each update, inside its loop.
 *
 * Kernels that multiply matrices have **registers** and **routines** besides: registers.ts; or **products** in blocks:
 * blocks.ts.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { GeneratedKernel } from '../../ir/kernel-parts.js';
import type { Reduction } from '../reduction.js';
import type { BlockProduct, BlockStmt } from './blocks.js';
import type { RegisterStmt, RegisterValue, Routine, RoutineCall } from './registers.js';

/** Instances that run side by side, under the name by which each knows its number. */
export interface ParallelAxis<S extends Size = Size> {
  readonly name: string;
  readonly extent: S;
  /** There may be more instances than `extent`: the body ends them. */
  readonly surplus?: true;
  /** Instances run one after the other: what they store may lie at the same place. */
  readonly ordered?: true;
  /**
   * Instances that follow each other may be one, which knows by a name how many they are: at most `most`, of those that a
   * division by `within` does not tell apart.
   */
  readonly runs?: { readonly name: string; readonly within: S; readonly most: number };
  /** Estimated time of one instance. */
  readonly nanoseconds?: number;
}

/** Memory that the threads of an instance share. */
export interface SharedArray {
  readonly name: string;
  readonly dtype: DType;
  /** Elements of a row; each is as wide as the vectors of the accumulators that it carries. */
  readonly length: number;
  /** Of cells, which carry no accumulators: values of each. Those of bool are false at first. */
  readonly width?: 1 | 4;
  /** Absent where there is one. */
  readonly rows?: number;
}

/** Memory of an instance, undefined at its start. */
export interface ScratchArray {
  readonly name: string;
  readonly dtype: DType;
  /** Elements. */
  readonly length: Size;
  /** Those of instances that run one after the other are one: it holds what `once` made. */
  readonly lasts?: true;
}

/** One reduction in the registers of a thread. */
export interface Accumulator {
  /** Unique in the kernel. */
  readonly name: string;
  readonly reduction: Reduction;
  /** Results of the fused kernel that it gives, as many as `reduction.finish`. */
  readonly ids: readonly number[];
  /** Type of the results. */
  readonly dtype: DType;
  /** Its results are known after each update. */
  readonly running?: true;
  /** Whole vectors may follow one of which not all elements count. */
  readonly ragged?: true;
  /** Takes in one half of a vector after the other: its state is half as wide, and leaves room for more threads. */
  readonly narrow?: true;
  /** Products may be added to it before they are rounded. */
  readonly fused?: true;
}

/** What must hold; all of a list. */
export type Condition =
  | { readonly kind: 'below'; readonly index: IndexExpr; readonly limit: IndexExpr }
  /** The index is 0. */
  | { readonly kind: 'first'; readonly index: IndexExpr }
  /** What a `test` found. */
  | { readonly kind: 'test'; readonly name: string }
  /** What a routine gives. */
  | RoutineCall
  /** One of the four values is greater than its limit. */
  | { readonly kind: 'exceeds'; readonly value: RegisterValue; readonly limit: RegisterValue }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'either'; readonly of: readonly Condition[] };

/**
 * How the elements of a vector lie: `width` along variable `lane`, `step` apart, from its present value on; and `groups`
 * of such, which follow each other along `lane` or, one apart, along `across`.
 */
export interface Lanes {
  readonly lane: string;
  readonly width: number;
  readonly step: number;
  readonly groups: number;
  /** Equal to `lane` unless groups lie along another variable. */
  readonly across: string;
  /**
   * Elements that count: the first so many, of all groups together or, where groups lie across, of each; or those for
   * which an index, which moves with the lanes, is below a limit.
   */
  readonly valid: number | { readonly index: IndexExpr; readonly limit: Size };
}

/** How a serial loop goes on: by adding, or by halving, whatever its ends, as long as it is above 0. */
export type Pace = number | 'halve';

/** One statement; see the file header. */
export type ScheduledStmt =
  /** A variable; `atMost` where the index may be larger. */
  | {
      readonly kind: 'let';
      readonly name: string;
      readonly index: IndexExpr;
      readonly atMost?: Size | IndexExpr;
    }
  /** Whether conditions hold, under a name. */
  | { readonly kind: 'test'; readonly name: string; readonly all: readonly Condition[] }
  /** This instance is over unless the conditions hold. Threads of one instance agree, or none of them waits later on. */
  | { readonly kind: 'exit'; readonly unless: readonly Condition[] }
  | LoopStmt
  | {
      readonly kind: 'when';
      readonly all: readonly Condition[];
      readonly body: ScheduledBody;
      readonly otherwise?: ScheduledBody;
    }
  /**
   * The body, but not where it was visited last with the same index: by this instance, or by one before it whose memory
   * it has. It knows of no variables but those of the index.
   */
  | { readonly kind: 'once'; readonly of: IndexExpr; readonly body: ScheduledBody }
  | { readonly kind: 'vector'; readonly lanes: Lanes; readonly body: ScheduledBody }
  /**
   * The body at a point of the inner loops that other statements with the same number visit as well, with the same
   * variables: values that were computed there are still in registers.
   */
  | { readonly kind: 'point'; readonly number: number; readonly body: ScheduledBody }
  | {
      readonly kind: 'start' | 'settle' | 'part' | 'fold' | 'finish';
      readonly of: readonly string[];
    }
  /** Loads that later statements need are under way from here on. */
  | { readonly kind: 'ask'; readonly of: readonly Extract<Expr, { kind: 'load' }>[] }
  /** Takes in a value; `at` is its place in the flattened inner loops. */
  | {
      readonly kind: 'update';
      readonly of: string;
      readonly value: Expr;
      readonly at: IndexExpr;
    }
  /** Writes the parts of an accumulator to one array each: shared ones, or scratch arrays, whose place moves with the lanes. */
  | ShareStmt
  /** The same backwards. */
  | (Omit<ShareStmt, 'kind'> & { readonly kind: 'fetch' })
  /** Brings in parts that were shared. */
  | (Omit<ShareStmt, 'kind'> & { readonly kind: 'merge' })
  /** Brings together the parts of each run of `among` neighbouring threads of a subgroup; a power of two. */
  | { readonly kind: 'exchange'; readonly of: readonly string[]; readonly among: IndexExpr }
  /** All threads of an instance get here before any goes on. */
  | { readonly kind: 'barrier' }
  | KeptStmt
  | RegisterStmt
  | BlockStmt
  | Extract<Stmt, { kind: 'store' }>;

/**
 * A value that is computed once. `keep`: it goes to a place of a scratch array, as soon as it is known. `recall`: up to
 * the end of the body, it is what was kept there; or what a product left there, if it is a result.
 */
export interface KeptStmt {
  readonly kind: 'keep' | 'recall';
  readonly value: Expr;
  readonly array: string;
  readonly at: IndexExpr;
}

/** Statements in order. */
export type ScheduledBody = readonly ScheduledStmt[];

/** Runs `name` from `begin` to below the least of `ends`, which may be at most once; not at all unless `only` holds. */
export interface LoopStmt {
  readonly kind: 'loop';
  readonly name: string;
  readonly begin: IndexExpr;
  readonly ends: readonly IndexExpr[];
  readonly pace: Pace;
  readonly only?: Condition;
  /** Its ends are numbers. */
  readonly unrolled?: true;
  readonly body: ScheduledBody;
}

/** See `ScheduledStmt`. */
export interface ShareStmt {
  readonly kind: 'share';
  readonly of: string;
  readonly arrays: readonly string[];
  readonly at: IndexExpr;
}

/** See the file header. */
export interface ScheduledKernel {
  /** What it computes: parameters, checks and expressions. Its reductions may have been rewritten into two passes. */
  readonly kernel: GeneratedKernel<Size>;
  /**
   * Loops in place of those of the kernel, whose other variables are defined by `let` where they are used. Absent where
   * the kernel's own are used.
   */
  readonly loops?: readonly SizedLoop[];
  readonly grid: ParallelAxis;
  /** Absent where instances have one thread. */
  readonly threads?: ParallelAxis<number>;
  readonly shared: readonly SharedArray[];
  /** Absent where there is none. */
  readonly scratch?: readonly ScratchArray[];
  readonly accumulators: readonly Accumulator[];
  /** Type of the values in registers. Absent where there are none. */
  readonly registers?: DType;
  readonly routines?: readonly Routine[];
  readonly products?: readonly BlockProduct[];
  /** Exponentials whose argument is known not to be above zero. */
  readonly decaying?: ReadonlySet<Expr>;
  readonly body: ScheduledBody;
}
