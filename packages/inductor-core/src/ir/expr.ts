/**
 * @file Scalar value expressions: what a kernel computes at one point of its loops, as data.
 *
 * Expressions are immutable and hash-consed by the constructors in `build.ts`: the same expression
 * is the same object within one compilation, so a code generator emits each object once (common
 * subexpressions are shared by identity). `dtype` is the logical element type of the value.
 *
 * Compute types: `float16` and `bfloat16` values are computed in f32 and rounded when stored;
 * `int8`/`int16`/`uint8` are computed in i32, and what may overflow is an int32 operation under a `cast` that
 * wraps it (the builder sees to it), so their values are always in range; `bool` is 0 or 1.
 * On devices without 64-bit integers (`Capabilities.int64 === 'i32'`) int64 is computed in i32.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { ValueCheck } from '@tessera/tensor/internal';
import type { IndexExpr } from './index-expr.js';

/** Operations on scalar values. Comparisons and logic give `bool`. */
export type ScalarOp =
  // arithmetic; `div` is true division (floats) and `floordiv`/`truncdiv` exist for all
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'floordiv'
  | 'truncdiv'
  | 'remainder'
  | 'fmod'
  | 'neg'
  | 'abs'
  | 'sign'
  | 'reciprocal'
  | 'square'
  /** `maximum`/`minimum` propagate NaN as PyTorch's do. */
  | 'maximum'
  | 'minimum'
  | 'fma'
  /** Greatest common divisor of integers, not negative. */
  | 'gcd'
  /** The magnitude of the first float with the sign bit of the second. */
  | 'copysign'
  /** The neighbour of the first float in its compute type, towards the second. */
  | 'nextafter'
  // rounding
  | 'floor'
  | 'ceil'
  | 'round'
  | 'trunc'
  // powers and transcendentals
  | 'sqrt'
  | 'rsqrt'
  | 'exp'
  | 'exp2'
  | 'expm1'
  | 'log'
  | 'log2'
  | 'log1p'
  | 'pow'
  | 'sin'
  | 'cos'
  | 'tan'
  | 'asin'
  | 'acos'
  | 'atan'
  | 'atan2'
  | 'sinh'
  | 'cosh'
  | 'tanh'
  | 'sigmoid'
  | 'erf'
  // comparisons (operands share a dtype) and tests
  | 'eq'
  | 'ne'
  | 'lt'
  | 'le'
  | 'gt'
  | 'ge'
  /** `within(a, b)` of integers: 0 ≤ a < b. */
  | 'within'
  | 'isnan'
  | 'isinf'
  // logic on bool and bits on integers
  | 'and'
  | 'or'
  | 'xor'
  | 'not'
  | 'shl'
  | 'shr'
  /** `where(cond, a, b)`: both sides are evaluated. */
  | 'where'
  /** Conversion to `dtype`; float → int truncates, int → narrower int wraps, x → bool is x != 0. */
  | 'cast';

/** A scalar expression. */
export type Expr =
  | { readonly kind: 'const'; readonly dtype: DType; readonly value: number }
  /** Element `index` of buffer parameter `buf`, converted to the compute type of `dtype`. */
  | {
      readonly kind: 'load';
      readonly dtype: DType;
      readonly buf: string;
      readonly index: IndexExpr;
    }
  /** Runtime scalar parameter (a learning rate, a step count), uniform over the kernel. */
  | { readonly kind: 'scalar'; readonly dtype: DType; readonly name: string }
  /** A loop index as a value. */
  | { readonly kind: 'index'; readonly dtype: DType; readonly index: IndexExpr }
  | {
      readonly kind: 'op';
      readonly dtype: DType;
      readonly op: ScalarOp;
      readonly args: readonly Expr[];
    }
  /**
   * The finished result `id` of a reduction of an earlier stage, or of a running one of this stage; in a matmul
   * epilogue, id 0 is the product.
   */
  | { readonly kind: 'acc'; readonly dtype: DType; readonly id: number }
  /**
   * `body` where `mask` is true, else the constant `other`. Loads inside `body` must not be
   * performed (or must be clamped to index 0) where the mask is false: they may be out of bounds.
   */
  | {
      readonly kind: 'masked';
      readonly dtype: DType;
      readonly mask: Expr;
      readonly body: Expr;
      readonly other: number;
    }
  /**
   * `value`, after a test of `subject`: where `ok` is false the kernel reports `check` with the subject, and the
   * value is anything. Memory outside of the buffers may then be neither read nor written: a kernel ends there, or
   * goes on with the value 0. A check inside `masked` holds where the mask is false (the builder sees to it), so a
   * check may be evaluated at any point of the loops, but not beyond their ends.
   */
  | {
      readonly kind: 'check';
      readonly dtype: DType;
      readonly check: ValueCheck<Size>;
      readonly subject: Expr;
      readonly ok: Expr;
      readonly value: Expr;
    }
  /**
   * Philox 4×32-10 random number. `seed` and `offset` are int64 expressions (usually scalars), `index` the
   * counter within the tensor; `uniform` is in [0, 1) with 24 bits, `normal` by Box–Muller on the first two words.
   */
  | {
      readonly kind: 'random';
      readonly dtype: DType;
      readonly distribution: 'uniform' | 'normal';
      readonly seed: Expr;
      readonly offset: Expr;
      readonly index: IndexExpr;
    };

/**
 * How a reduction combines values. One result unless said otherwise.
 * - `argmax`/`argmin`: the first index (over the flattened inner loop) of the extreme; NaN wins. dtype int64.
 * - `welford`: two results, mean and M2 (sum of squared deviations).
 * - `online_softmax`: two results, the maximum m and Σ exp(x - m); a row of only -inf gives m = -inf and NaN. NaN among
 *   the values makes the sum NaN, and m may miss it.
 * - `mean` and `peak` are made by `inTwoPasses` alone: the average, and a maximum that may skip NaN because a sum of
 *   exponentials follows which does not. No plan has them.
 *
 * What each does is written in `schedule/reductions`.
 */
export type ReduceOp =
  | 'sum'
  | 'prod'
  | 'max'
  | 'min'
  | 'any'
  | 'all'
  | 'argmax'
  | 'argmin'
  | 'welford'
  | 'online_softmax'
  | 'mean'
  | 'peak';

/**
 * How points that store to one place combine what they store with what lies there, in any order: sums of int32 and float32,
 * maxima of int32.
 */
export type Combine = 'sum' | 'max';

/** One effect of a kernel's body. */
export type Stmt =
  /** Writes `value`, rounded or wrapped to the buffer's dtype. */
  | {
      readonly kind: 'store';
      readonly buf: string;
      readonly index: IndexExpr;
      readonly value: Expr;
      /** Its value is one of the buffer's dtype, or of no matter, whatever dtype it is computed in. */
      readonly isExact?: true;
      /** What lies there becomes its sum or maximum with the value. */
      readonly combine?: Combine;
    }
  /** Accumulates `value` over the inner loop into results `ids`; only in an inner stage. */
  | {
      readonly kind: 'reduce';
      readonly op: ReduceOp;
      readonly ids: readonly number[];
      readonly dtype: DType;
      readonly value: Expr;
      /**
       * A scan: the result is known at every inner point, to the statements that follow in this stage alone, and is
       * what the points up to this one give (the last variable moves fastest). For sum, prod, max and min.
       */
      readonly running?: true;
    };
