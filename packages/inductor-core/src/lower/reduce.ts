/**
 * @file `reduce`: reductions of a lowered tensor over some of its dimensions, split in two where one
 * pass would leave workers idle.
 *
 * The results are realized buffers; everything that follows a reduction (dividing by a count, a square
 * root) is a lazy expression on them. Low-precision floats accumulate in float32.
 */
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { Expr, ReduceOp } from '../ir/expr.js';
import { highest, lowest } from '../ir/integer-ranges.js';
import { NARROW_INTEGERS } from '../ir/scalar-ops.js';
import { REDUCE_RESULTS } from '../ir/verify.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { ExprMath } from './expr-math.js';
import { reducedView } from './reduced-view.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { type Shape, fixed, isEmpty, isSame, numelOf } from './shape-math.js';
import { splitPoint } from './split-reduction.js';

/** A reduction about to be made: what to reduce and over which variables. */
export interface ReducePlan {
  readonly op: ReduceOp;
  /** Type of values and results (results of argmax and argmin are int64). */
  readonly dtype: DType;
  /** Sizes of the result, over whose canonical variables the value varies. */
  readonly sizes: Shape;
  readonly inner: readonly SizedLoop[];
  readonly order: readonly SizedLoop[];
  readonly value: Expr;
  /** Never split in two: it combines partial results. */
  readonly whole?: boolean;
}

/** Type in which a sum or mean of `dtype` accumulates; what it makes is cast back, which wraps narrow integers. */
export function accumulateDtype(dtype: DType): DType {
  if (NARROW_INTEGERS.has(dtype)) return 'int32';
  return dtype === 'float16' || dtype === 'bfloat16' ? 'float32' : dtype;
}

/** What reducing nothing gives. */
function identityOf(op: ReduceOp): number {
  return op === 'prod' || op === 'all' ? 1 : op === 'max' ? -Infinity : op === 'min' ? Infinity : 0;
}

/**
 * Reduces `self` over `dims`. `sizes` is the shape of the result (with or without the reduced
 * dimensions kept as 1). Returns one tensor per result of `op`.
 */
export function reduce(
  l: Lowering,
  op: ReduceOp,
  self: LoweredTensor,
  dims: readonly number[],
  keepdim: boolean,
  dtype: DType = self.dtype,
): LoweredTensor[] {
  return reducePlan(l, planOf(l, op, self, dims, keepdim, dtype));
}

function planOf(
  l: Lowering,
  op: ReduceOp,
  self: LoweredTensor,
  dims: readonly number[],
  keepdim: boolean,
  dtype: DType,
): ReducePlan {
  const view = reducedView(l, self.shape, dims, keepdim);
  return {
    op,
    dtype,
    sizes: view.sizes,
    inner: view.inner,
    order: view.order,
    value: l.ir.cast(self.load(view.coords), dtype),
  };
}

/** Combines partial results, which lie along the first dimension. */
function combine(l: Lowering, op: ReduceOp, partial: LoweredTensor, dtype: DType): LoweredTensor {
  return reducePlan(l, { ...planOf(l, op, partial, [0], false, dtype), whole: true })[0]!;
}

/** Makes a planned reduction: nothing to reduce, one element, one pass or two. */
export function reducePlan(l: Lowering, plan: ReducePlan): LoweredTensor[] {
  const { op, sizes, inner, order, value } = plan;
  const resultDtype: DType = op === 'argmax' || op === 'argmin' ? 'int64' : plan.dtype;
  const count = numelOf(inner.map(({ size }) => size));
  const results = REDUCE_RESULTS[op];
  if (isSame(count, 0) || isEmpty(sizes)) {
    return Array.from({ length: results }, () =>
      l.pointwise(sizes, l.ir.const(resultDtype, identityOf(op))),
    );
  }
  if (count === 1 && results === 1) {
    return [
      l.pointwise(
        sizes,
        resultDtype === 'int64' && op.startsWith('arg') ? l.ir.const('int64', 0) : value,
      ),
    ];
  }
  if (count === 1 && op === 'welford')
    return [l.pointwise(sizes, value), l.pointwise(sizes, l.ir.op('sub', [value, value]))];
  const splits = plan.whole === true ? null : splitPoint(l.capabilities, numelOf(sizes), inner);
  if (splits === null) return l.addReduction(op, resultDtype, sizes, inner, order, value);
  switch (op) {
    case 'welford':
      return splitWelford(l, plan, fixed(count));
    case 'argmax':
    case 'argmin':
      return [splitArg(l, plan, splits)];
    case 'online_softmax':
      return l.addReduction(op, resultDtype, sizes, inner, order, value);
    default:
      return [splitSimple(l, plan, splits)];
  }
}

/** Partial results of `chunks` consecutive pieces of the reduced range, as one more leading dimension. */
function partials(
  l: Lowering,
  plan: ReducePlan,
  chunks: number,
  op: ReduceOp,
): { readonly partial: LoweredTensor; readonly chunkSize: number } {
  const { inner, sizes } = plan;
  const count = fixed(numelOf(inner.map(({ size }) => size)));
  const chunkSize = Math.ceil(count / chunks);
  const wide = [chunks, ...sizes];
  const [chunk, ...rest] = l.vars(wide);
  const within = l.freshVar('p', chunkSize);
  const flat = l.ir.add(l.ir.scale(chunk, chunkSize), within.index);
  const map = new Map<string, IndexExpr>();
  l.vars(sizes).forEach((v, d) => {
    if (v.kind === 'sym') map.set(v.name, rest[d]!);
  });
  let below = count;
  for (const v of inner) {
    const size = fixed(v.size);
    below /= size;
    const digit = l.ir.div(flat, below);
    map.set(v.name, below * size === count ? digit : l.ir.mod(digit, size));
  }
  let value = l.substitute(plan.value, map);
  if (chunkSize * chunks !== count) {
    const inside = l.ir.op('lt', [l.ir.index('int32', flat), l.ir.const('int32', count)]);
    value = l.ir.masked(
      inside,
      value,
      neutral(op === 'argmax' ? 'max' : op === 'argmin' ? 'min' : op, plan.dtype),
    );
  }
  const order = [...within.vars, ...l.loopVars(wide)];
  const [partial] = l.addReduction(
    op,
    op === 'argmax' || op === 'argmin' ? 'int64' : plan.dtype,
    wide,
    within.vars,
    order,
    value,
  );
  return { partial: partial!, chunkSize };
}

/** The neutral element of `op` in a type, which may have no infinities. */
export function neutral(op: ReduceOp, dtype: DType): number {
  const value = identityOf(op);
  if (Number.isFinite(value) || isFloatingPoint(dtype)) return value;
  return value < 0 ? lowest(dtype) : highest(dtype);
}

function splitSimple(l: Lowering, plan: ReducePlan, chunks: number): LoweredTensor {
  const { partial } = partials(l, plan, chunks, plan.op);
  return combine(l, plan.op, partial, plan.dtype);
}

/** The mean first, then squared distances from it: partial variances do not add. */
function splitWelford(l: Lowering, plan: ReducePlan, count: number): LoweredTensor[] {
  const [total] = reducePlan(l, { ...plan, op: 'sum' });
  const mean = l.pointwise(
    plan.sizes,
    l.ir.op('div', [total!.expr, l.ir.const(plan.dtype, count)]),
  );
  mean.realize();
  const distance = l.ir.op('sub', [plan.value, mean.expr]);
  const [m2] = reducePlan(l, { ...plan, op: 'sum', value: l.ir.op('square', [distance]) });
  return [mean, m2!];
}

/** Best value and place per piece, then the first best piece. */
function splitArg(l: Lowering, plan: ReducePlan, chunks: number): LoweredTensor {
  const best = partials(l, plan, chunks, plan.op === 'argmax' ? 'max' : 'min').partial;
  const { partial: place, chunkSize } = partials(l, plan, chunks, plan.op);
  const winner = combine(l, plan.op, best, plan.dtype);
  // The winner may come from memory by then, and of what memory holds nothing is known.
  const m = new ExprMath(l.ir);
  const chunk = l.ir.value(m.min(m.max(winner.expr, 0), chunks - 1));
  const local = place.load([chunk, ...l.vars(plan.sizes)]);
  return l.pointwise(
    plan.sizes,
    l.ir.op('add', [local, l.ir.op('mul', [winner.expr, l.ir.const('int64', chunkSize)])]),
  );
}
