/**
 * @file index_put: sources put, or added, at places that index tensors name. See scatter.ts for how.
 */
import { type Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { affordable } from '../affordable.js';
import { checkedIndices, checkedPosition } from '../checked-value.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { isSame, numelOf, type Shape } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { advancedIndex, hasMask } from './indexing.js';
import {
  accumulated,
  inSteps,
  isCombined,
  ownSum,
  type PlacedSteps,
  replaced,
  type Sources,
  withCombined,
} from './scatter.js';
import { delinearize, linearize } from './view-maps.js';

/** Index tensors by dimension; null where all places are meant. */
type IndexTensors = readonly (LoweredTensor | null)[];

/** index_put: self, indices, values, accumulate. */
const indexPut: LoweringOf<'aten::index_put'> = (l, [x, indices, values, accumulate]) => {
  const masked = maskedPut(l, x, indices, values, accumulate === true);
  if (masked !== null) return masked;
  if (indices.every((index) => index == null) || hasMask(indices)) return null;
  const shape = indexedSizes(x.shape, indices);
  const count = numelOf(shape);
  if (isSame(count, 0)) return x;
  const lead = shape.length - values.shape.length;
  const valueOf = (from: LoweredTensor, point: readonly IndexExpr[]): Expr =>
    from.load(from.shape.map((size, d) => (size === 1 ? l.ir.int(0) : point[d + lead]!)));
  const placed = (): PlacedSteps => {
    const place = (index: Expr, size: Size): IndexExpr =>
      checkedPosition(l, 'index', index, size, true);
    const ready = indices.map((index) => (index == null ? null : readyOperand(l, index)));
    return { sizes: shape, ...advancedIndex(l, x, ready, shape, place) };
  };
  const add = accumulate === true;
  if (!affordable(l, numelOf(x.shape), count, count, 'scatter')) {
    const sum = add ? ownSum(x.dtype) : null;
    return inSteps(l, x, { ...placed(), sum }, valueOf(values, l.vars(shape)));
  }
  const source = readyOperand(l, values);
  const fresh = l.freshVar('s', count);
  const at = (order: IndexExpr): IndexExpr[] => delinearize(l, order, shape);
  const valueAt = (order: IndexExpr): Expr => valueOf(source, at(order));
  const named = { inner: fresh.vars, order: fresh.index, value: valueAt(fresh.index), valueAt };
  if (isCombined(l, x, count, count, add)) {
    const given = {
      ...placed(),
      value: valueOf(source, l.vars(shape)),
      number: linearize(l, l.vars(shape), shape),
    };
    const sources = { ...named, hits: l.ir.const('bool', 1) };
    return withCombined(l, x, sources, given, add ? 1 : null);
  }
  const m = new ExprMath(l.ir);
  const places = x.shape.map((size, d) => {
    const index = indices[d];
    return index == null ? null : checkedIndices(l, 'index', readyOperand(l, index), size, true);
  });
  const { coords } = advancedIndex(l, x, places, shape, (index) => l.ir.value(index));
  const vars = l.vars(x.shape);
  const targets = l.indicesAt(coords, shape, at(fresh.index));
  const hits = targets
    .map((target, d) => m.eq(asValue(l, target), l.ir.index(asValue(l, target).dtype, vars[d]!)))
    .reduce((a, b) => m.and(a, b));
  const sources: Sources = { ...named, hits };
  return add ? accumulated(l, x, sources, 1) : replaced(l, x, sources);
};

/** One value put where a mask over the leading dimensions holds: a choice per element. */
function maskedPut(
  l: Lowering,
  x: LoweredTensor,
  indices: IndexTensors,
  value: LoweredTensor,
  accumulate: boolean,
): LoweredTensor | null {
  const [mask, ...others] = indices;
  if (mask?.dtype !== 'bool' || others.some((index) => index != null)) return null;
  if (numelOf(value.shape) !== 1) return null;
  const m = new ExprMath(l.ir);
  const vars = l.vars(x.shape);
  const put = l.ir.cast(value.load(value.shape.map(() => l.ir.int(0))), x.dtype);
  const result = accumulate ? m.add(x.expr, put) : put;
  return l.pointwise(x.shape, m.where(mask.load(vars.slice(0, mask.shape.length)), result, x.expr));
}

function asValue(l: Lowering, index: IndexExpr): Expr {
  return index.kind === 'value' ? index.value : l.ir.index('int64', index);
}

/** Shape of `x[indices]`. */
export function indexedSizes(sizes: Shape, indices: IndexTensors): Size[] {
  const given = sizes.map((_, d) => indices[d] ?? null);
  const used = given.flatMap((index, d) => (index === null ? [] : [d]));
  const adjacent = used.every((d, i) => d === used[0]! + i);
  const rank = Math.max(...used.map((d) => given[d]!.shape.length));
  const shared = new Array<Size>(rank).fill(1);
  for (const d of used) {
    const own = given[d]!.shape;
    own.forEach((size, i) => {
      if (size !== 1) shared[i + rank - own.length] = size;
    });
  }
  const before = adjacent ? sizes.slice(0, used[0]).filter((_, d) => given[d] === null) : [];
  const after = sizes.filter((_, d) => given[d] === null && !(adjacent && d < used[0]!));
  return [...before, ...shared, ...after];
}

/** Lowerings by overload name; null results go to the reference kernel. */
export const indexPutLowerings: LoweringTable = lowerings({ 'aten::index_put': indexPut });
