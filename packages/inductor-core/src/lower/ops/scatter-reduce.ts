/**
 * @file scatter_reduce as a reduction per result: each element combines the sources that address it.
 * See scatter.ts for why, and for what it costs.
 */
import { affordable } from '../affordable.js';
import { readyOperand } from '../ready-operand.js';
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import { castTensor, floating } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, neutral } from '../reduce.js';
import { alongDim, asBefore, atLeast1d, overSources, sourceOf, sourcePlaces } from './scatter.js';
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
  if (!affordable(l, numelOf(own.shape), indices.shape[along]!, numelOf(indices.shape)))
    return null;
  const at = sourcePlaces(l, 'scatter_reduce', indices, along, own.shape[along]!);
  const reduce = String(name) as Reduction;
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
  const together = includeSelf === false ? met.expr : join(m, reduce, x.expr, met.expr);
  const combined = m.where(untouched, x.expr, together);
  const result =
    reduce === 'mean' ? average(l, combined, counts.expr, includeSelf !== false) : combined;
  return asBefore(l, l.pointwise(x.shape, l.ir.cast(result, own.dtype)), original);
};

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
