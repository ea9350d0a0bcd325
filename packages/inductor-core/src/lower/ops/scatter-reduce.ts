/**
 * @file scatter_reduce as a reduction per result: each element combines the sources that address it.
 * See scatter.ts for why, and for what it costs.
 */
import { affordable } from '../affordable.js';
import { readyOperand } from '../ready-operand.js';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import { castTensor, floating } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type Put, putInSteps } from '../put-in-steps.js';
import { addCombined, combinedDtype } from '../put-combined.js';
import { accumulateDtype, neutral } from '../reduce.js';
import {
  alongDim,
  alongSteps,
  asBefore,
  atLeast1d,
  isCombined,
  overSources,
  type PlacedSteps,
  sourceOf,
  sourcePlaces,
} from './scatter.js';
import { isEmpty, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

type Reduction = 'sum' | 'prod' | 'mean' | 'amax' | 'amin';

const COMBINE: Readonly<Record<Reduction, ReduceOp>> = {
  sum: 'sum',
  mean: 'sum',
  prod: 'prod',
  amax: 'max',
  amin: 'min',
};

/** Joins what met at an element with its own value. */
function join(m: ExprMath, reduce: Reduction, own: Expr, met: Expr): Expr {
  switch (reduce) {
    case 'prod':
      return m.mul(own, met);
    case 'amax':
      return m.max(own, met);
    case 'amin':
      return m.min(own, met);
    default:
      return m.add(own, met);
  }
}

/** scatter_reduce.two: self, dim, index, src, reduce, include_self. */
const scatterReduce: LoweringOf<'aten::scatter_reduce.two'> = (
  l,
  [original, dim, index, src, name, includeSelf],
  call,
) => {
  const indices = atLeast1d(readyOperand(l, index));
  if (isEmpty(indices.shape)) return original;
  const own = atLeast1d(original);
  const along = wrapDim(Number(dim), own.shape.length, call.op);
  const reduce = String(name) as Reduction;
  const withSelf = includeSelf !== false;
  if (
    !affordable(l, numelOf(own.shape), indices.shape[along]!, numelOf(indices.shape), 'scatter')
  ) {
    const steps = alongSteps(l, 'scatter_reduce', indices, along, own.shape[along]!);
    const value = sourceOf(l, atLeast1d(src), src.dtype)(l.vars(indices.shape));
    const result = reducedInSteps(l, own, steps, reduce, value, withSelf);
    return result === null ? null : asBefore(l, castTensor(l, result, own.dtype), original);
  }
  if (isSum(reduce) && isCombined(l, own, indices.shape[along]!, numelOf(indices.shape), true)) {
    const places = alongSteps(l, 'scatter_reduce', indices, along, own.shape[along]!);
    const value = sourceOf(l, atLeast1d(src), src.dtype)(l.vars(indices.shape));
    return asBefore(l, combinedSum(l, own, places, reduce, value, withSelf), original);
  }
  const at = sourcePlaces(l, 'scatter_reduce', indices, along, own.shape[along]!);
  // Logic is arithmetic on 0 and 1.
  const type = own.dtype === 'bool' ? 'int32' : accumulateDtype(own.dtype);
  const x = castTensor(l, own, type);
  const from = atLeast1d(readyOperand(l, src));
  const sources = alongDim(l, 'scatter_reduce', x.shape, along, at, sourceOf(l, from, from.dtype));
  const m = new ExprMath(l.ir);
  const over = (op: ReduceOp, value: Expr): LoweredTensor =>
    overSources(l, x.shape, sources, op, value);
  const op = COMBINE[reduce];
  const met = over(op, m.where(sources.hits, l.ir.cast(sources.value, type), neutral(op, type)));
  const counts = over('sum', l.ir.cast(sources.hits, 'int32'));
  const untouched = m.eq(counts.expr, 0);
  const together = withSelf ? join(m, reduce, x.expr, met.expr) : met.expr;
  const combined = m.where(untouched, x.expr, together);
  // The total of integers is one of self's: it wraps.
  const wraps = own.dtype !== 'bool' && floating(type) !== type;
  const total = wraps ? l.ir.cast(combined, own.dtype) : combined;
  const result = reduce === 'mean' ? average(l, total, counts.expr, withSelf) : total;
  return asBefore(l, l.pointwise(x.shape, l.ir.cast(result, own.dtype)), original);
};

function isSum(reduce: Reduction): reduce is 'sum' | 'mean' {
  return reduce === 'sum' || reduce === 'mean';
}

/** Sums or averages of sources that combine with what lies there (put-combined.ts). */
function combinedSum(
  l: Lowering,
  self: LoweredTensor,
  { sizes, coords }: PlacedSteps,
  reduce: 'sum' | 'mean',
  value: Expr,
  withSelf: boolean,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const type = combinedDtype(self.dtype);
  const none = (dtype: DType): LoweredTensor => l.pointwise(self.shape, l.ir.const(dtype, 0));
  const total = addCombined(l, none(type), sizes, [{ coords, value: m.cast(value, type) }]);
  const one = l.ir.const('int32', 1);
  const counts = addCombined(l, none('int32'), sizes, [{ coords, value: one }]);
  const untouched = m.eq(counts.expr, 0);
  const x = m.cast(self.expr, type);
  const sum = m.where(untouched, x, withSelf ? m.add(x, total.expr) : total.expr);
  const result = reduce === 'mean' ? average(l, sum, counts.expr, withSelf) : sum;
  return l.pointwise(self.shape, m.cast(result, self.dtype));
}

/** Sources combined one after another, in what the elements of self are computed in. */
function reducedInSteps(
  l: Lowering,
  self: LoweredTensor,
  { coords, ...steps }: PlacedSteps,
  reduce: Reduction,
  value: Expr,
  withSelf: boolean,
): LoweredTensor | null {
  const { dtype } = self;
  const type = isFloatingPoint(dtype) ? accumulateDtype(dtype) : dtype === 'bool' ? 'int32' : dtype;
  const m = new ExprMath(l.ir);
  const from = (start: LoweredTensor, of: DType, put: Put['put']): LoweredTensor | null =>
    putInSteps(l, start, of, steps, [{ coords, put }]);
  const first = l.ir.const(type, neutral(COMBINE[reduce], type));
  const start = withSelf ? self : from(self, type, () => first);
  const source = l.ir.cast(value, type);
  const total = start && from(start, type, (old) => join(m, reduce, old, source));
  if (reduce !== 'mean' || total === null) return total;
  const none = l.pointwise(self.shape, l.ir.const('int32', 0));
  const counts = from(none, 'int32', (old) => m.add(old, 1))!;
  return l.pointwise(self.shape, average(l, total.expr, counts.expr, withSelf));
}

/** A total over its number of parts; integers round down. */
function average(l: Lowering, total: Expr, counts: Expr, withSelf: boolean): Expr {
  const m = new ExprMath(l.ir);
  const parts = m.cast(withSelf ? m.add(counts, 1) : m.max(counts, 1), total.dtype);
  return floating(total.dtype) === total.dtype
    ? m.div(total, parts)
    : l.ir.op('floordiv', [total, parts]);
}

/** Lowerings by overload name; null results go to the reference kernel. */
export const scatterReduceLowerings: LoweringTable = lowerings({
  'aten::scatter_reduce.two': scatterReduce,
});
