/**
 * @file Sorting by rank, for rows short enough or devices without another way: sort, topk, kthvalue, median, mode.
 *
 * An element's place is the number of elements that come before it, so places are known independently of
 * each other, and a second reduction finds who has each place. That is two comparisons of all pairs: fast
 * for short rows. Longer ones are left to the reference kernel, or merged where there is none (`merge-order.ts`).
 */
import { type Size, SymInt, sizeAdd, sizeFloorDiv, sizeSub } from '@tessera/shared';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { position } from '../checked-value.js';
import { castTensor, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { mergedOrder } from './merge-order.js';
import { reducePlan } from '../reduce.js';
import { type Shape, isEmpty, isLarger, numelOf } from '../shape-math.js';
import type { LoweredArg, LoweringCall, LoweringFn } from '../registry.js';
import { reshapeTensor } from './view-maps.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Rows up to this long are ranked where the reference kernel could sort them too. */
const SHORT_ROW = 64;
/** Rows up to this long are ranked where merging is the other way. */
const RANKED_ROW = 1024;
/** Rows up to this long have all pairs compared where nothing else can be done. */
const LONGEST_PAIRS = 8192;

/** Positions have 32 bits. */
const LONGEST_ROW = 2 ** 31 - 1;

/** A tensor whose rows along a dimension are put in order. */
export interface Rows {
  readonly l: Lowering;
  readonly x: LoweredTensor;
  readonly at: number;
  readonly length: Size;
}

/** The rows of a call, or null where they are too long; at least one-dimensional and in memory. */
function rowsOf(
  l: Lowering,
  self: LoweredTensor,
  dim: LoweredArg,
  op: string,
  longest: number = LONGEST_ROW,
): Rows | null {
  const flat = self.shape.length === 0 ? self.view([1], []) : self;
  const at = wrapDim(Number(dim), flat.shape.length, op);
  const length = flat.shape[at]!;
  if (isEmpty(flat.shape)) return null;
  if (isLarger(length, l.hasFallback ? SHORT_ROW : longest)) return null;
  const x = castTensor(l, flat, flat.dtype === 'bool' ? 'int32' : flat.dtype);
  if (!x.isRealized && l.costOf(x.expr).loads > 0) x.realize();
  return { l, x, at, length };
}

/** `vars` with another position along the rows. */
function along(vars: readonly IndexExpr[], at: number, index: IndexExpr): IndexExpr[] {
  return vars.map((v, d) => (d === at ? index : v));
}

/** Reduces over positions of the row that a point of `sizes` lies in. */
export function overRow(
  rows: Rows,
  sizes: Shape,
  op: ReduceOp,
  value: (j: IndexExpr, vars: readonly IndexExpr[]) => Expr,
): LoweredTensor {
  const { l, length } = rows;
  const j: { readonly index: IndexExpr; readonly vars: readonly SizedLoop[] } = l.freshVar(
    'j',
    length,
  );
  const reduced = value(j.index, l.vars(sizes));
  const order = [...l.loopVars(sizes), ...j.vars];
  return reducePlan(l, {
    op,
    dtype: reduced.dtype,
    sizes,
    inner: j.vars,
    order,
    value: reduced,
  })[0]!;
}

/** Whether a is less than b, NaN being the largest. */
function less(l: Lowering, a: Expr, b: Expr): Expr {
  const m = new ExprMath(l.ir);
  if (!isFloatingPoint(a.dtype)) return m.lt(a, b);
  const isNan = (e: Expr): Expr => l.ir.op('isnan', [e]);
  return l.ir.op('or', [m.lt(a, b), m.and(l.ir.op('not', [isNan(a)]), isNan(b))]);
}

/** For each place in order (at least for those in `places`), the position of the element that takes it, as int32. */
export function orderOf(
  rows: Rows,
  descending: boolean,
  places: Shape = rows.x.shape,
): LoweredTensor {
  const { l, x, at } = rows;
  if (isLarger(rows.length, RANKED_ROW)) {
    const before = (a: Expr, b: Expr): Expr => (descending ? less(l, b, a) : less(l, a, b));
    const order = mergedOrder({ ...rows, before }, places[at]!);
    order.realize();
    return order;
  }
  const m = new ExprMath(l.ir);
  const index = (e: IndexExpr): Expr => l.ir.index('int32', e);
  const ranks = overRow(rows, x.shape, 'sum', (j, vars) => {
    const [other, own] = [x.load(along(vars, at, j)), x.load(vars)];
    const [first, second] = descending ? [own, other] : [other, own];
    const tied = m.and(l.ir.op('not', [less(l, second, first)]), m.lt(index(j), index(vars[at]!)));
    return l.ir.cast(l.ir.op('or', [less(l, first, second), tied]), 'int32');
  });
  ranks.realize();
  return overRow(rows, places, 'sum', (j, vars) =>
    m.where(m.eq(ranks.load(along(vars, at, j)), index(vars[at]!)), index(j), 0),
  );
}

/** Values and positions of chosen elements, one per point of `sizes`. */
function chosen(
  rows: Rows,
  sizes: Shape,
  places: LoweredTensor,
  result: Shape,
  dtype: DType,
): LoweredTensor[] {
  const { l, x, at, length } = rows;
  const vars = l.vars(sizes);
  const from = position(l, places.load(vars), length);
  const values = l.pointwise(sizes, l.ir.cast(x.load(along(vars, at, from)), dtype));
  const indices = l.pointwise(sizes, l.ir.cast(places.load(vars), 'int64'));
  return [reshapeTensor(l, values, result), reshapeTensor(l, indices, result)];
}

/** Values and positions of no elements. */
function nothing(l: Lowering, sizes: Shape, dtype: DType): LoweredTensor[] {
  return [l.pointwise(sizes, l.ir.const(dtype, 0)), l.pointwise(sizes, l.ir.const('int64', 0))];
}

/** sort: self, dim, descending; the other overload has `stable` before them. */
function sort(first: number): LoweringFn {
  return (l, args, call) => {
    const self = tensorArg(args[0]!, call.op);
    if (isEmpty(self.shape)) return nothing(l, self.shape, self.dtype);
    const rows = rowsOf(l, self, args[first] ?? -1, call.op);
    if (rows === null) return null;
    const order = orderOf(rows, args[first + 1] === true);
    return chosen(rows, rows.x.shape, order, self.shape, self.dtype);
  };
}

/** topk: self, k, dim, largest. */
const topk: LoweringOf<'aten::topk'> = (l, [original, k, dim, largest], call) => {
  if (isEmpty(call.shape)) return nothing(l, call.shape, original.dtype);
  const rows = rowsOf(l, original, dim ?? -1, call.op);
  if (rows === null) return null;
  // One element without dimensions is given back whatever k is.
  const count = original.shape.length === 0 ? 1 : Number(k);
  const sizes = rows.x.shape.map((size, d) => (d === rows.at ? count : size));
  const order = orderOf(rows, largest !== false, sizes);
  return chosen(rows, sizes, order, original.shape.length === 0 ? [] : sizes, original.dtype);
};

/** The element of each row at a place in ascending order. */
function atPlace(rows: Rows, place: Expr | Size, result: Shape, dtype: DType): LoweredTensor[] {
  const { l, x, at, length } = rows;
  const sizes = x.shape.map((size, d) => (d === at ? 1 : size));
  const count = place instanceof SymInt || typeof place === 'number' ? sizeAdd(place, 1) : length;
  const counted = x.shape.map((size, d) => (d === at ? count : size));
  const order = orderOf(rows, false, counted);
  const index = position(l, new ExprMath(l.ir).term(place, 'int32'), length);
  const picked = l.pointwise(sizes, order.load(along(l.vars(sizes), at, index)));
  return chosen(rows, sizes, picked, result, dtype);
}

/** kthvalue: self, k, dim. Of equal elements the reference kernel names the one that PyTorch does. */
const kthvalue: LoweringOf<'aten::kthvalue'> = (l, [original, k, dim], call) => {
  if (l.hasFallback) return null;
  if (isEmpty(call.shape)) return nothing(l, call.shape, original.dtype);
  const rows = rowsOf(l, original, dim ?? -1, call.op);
  return rows === null ? null : atPlace(rows, Number(k) - 1, call.shape, original.dtype);
};

/** Place of the lower median of each row. */
function medianPlace(rows: Rows, skipNan: boolean): Expr | Size {
  const { l, x, at, length } = rows;
  const middle = sizeFloorDiv(sizeSub(length, 1), 2);
  if (!isFloatingPoint(x.dtype)) return middle;
  const sizes = x.shape.map((size, d) => (d === at ? 1 : size));
  const nans = overRow(rows, sizes, 'sum', (j, vars) =>
    l.ir.cast(l.ir.op('isnan', [x.load(along(vars, at, j))]), 'int32'),
  ).expr;
  const m = new ExprMath(l.ir);
  const known = m.sub(m.term(length, 'int32'), nans);
  if (skipNan) return m.max(l.ir.op('truncdiv', [m.sub(known, 1), m.term(2, 'int32')]), 0);
  // The first NaN comes right behind the numbers.
  return m.where(m.gt(nans, 0), known, middle);
}

function median(skipNan: boolean): LoweringFn {
  return (l, [self, dim], call: LoweringCall) => {
    const original = tensorArg(self!, call.op);
    const all = dim === undefined;
    if (!all && isEmpty(call.shape)) return nothing(l, call.shape, original.dtype);
    if (all && isEmpty(original.shape) && isFloatingPoint(original.dtype))
      return l.pointwise([], l.ir.const(original.dtype, Number.NaN));
    const flat = all ? reshapeTensor(l, original, [numelOf(original.shape)]) : original;
    const rows = rowsOf(l, flat, all ? 0 : dim, call.op);
    if (rows === null) return null;
    const results = atPlace(rows, medianPlace(rows, skipNan), call.shape, original.dtype);
    return all ? results[0]! : results;
  };
}

/** mode: self, dim. The smallest of the most common values, where it last is. */
const mode: LoweringOf<'aten::mode'> = (l, [original, dim], call) => {
  if (isEmpty(call.shape)) return nothing(l, call.shape, original.dtype);
  const rows = rowsOf(l, original, dim ?? -1, call.op, LONGEST_PAIRS);
  if (rows === null) return null;
  const { x, at } = rows;
  const m = new ExprMath(l.ir);
  const index = (e: IndexExpr): Expr => l.ir.index('int32', e);
  const sizes = x.shape.map((size, d) => (d === at ? 1 : size));
  // A NaN equals nothing, itself included, but is there once.
  const counts = overRow(rows, x.shape, 'sum', (j, vars) =>
    m.where(
      m.eq(index(j), index(vars[at]!)),
      1,
      l.ir.cast(m.eq(x.load(along(vars, at, j)), x.load(vars)), 'int32'),
    ),
  );
  const most = overRow(rows, sizes, 'max', (j, vars) => counts.load(along(vars, at, j)));
  const isMode = (j: IndexExpr, vars: readonly IndexExpr[]): Expr =>
    m.eq(counts.load(along(vars, at, j)), most.load(vars));
  const rank = orderOf(rows, false);
  const isFirst = (j: IndexExpr, vars: readonly IndexExpr[]): Expr => {
    const from = position(l, rank.load(along(vars, at, j)), rows.length);
    return isMode(from, vars);
  };
  // The first of the places in order that hold a mode, then the last position with its value.
  const place = overRow(rows, sizes, 'min', (j, vars) =>
    m.where(isFirst(j, vars), index(j), rows.length),
  );
  const smallest = l.pointwise(
    sizes,
    rank.load(along(l.vars(sizes), at, position(l, place.expr, rows.length))),
  );
  smallest.realize();
  const last = overRow(rows, sizes, 'max', (j, vars) => {
    const value = x.load(along(vars, at, position(l, smallest.load(vars), rows.length)));
    return m.where(m.eq(x.load(along(vars, at, j)), value), index(j), smallest.load(vars));
  });
  return chosen(rows, sizes, last, call.shape, original.dtype);
};

/** Lowerings by overload name; null results go to the reference kernel. */
export const orderLowerings: LoweringTable = lowerings({
  'aten::sort': sort(1),
  'aten::sort.stable': sort(2),
  'aten::topk': topk,
  'aten::kthvalue': kthvalue,
  'aten::median': median(false),
  'aten::median.dim': median(false),
  'aten::nanmedian': median(true),
  'aten::nanmedian.dim': median(true),
  'aten::mode': mode,
});
