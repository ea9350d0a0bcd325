/**
 * @file The order of long rows by merging, for devices without another way: n log² n comparisons, no writes to
 * computed places.
 *
 * Short blocks are ordered by counting, then neighbours are merged until one is left. Every place of a merged
 * block finds by bisection how many of the elements before it come from the first half, so all places are
 * computed at once. Where only the first places are wanted, blocks stop growing at their number. @see Green, Odeh, Birk, "Merge Path", 2014
 */
import { type Size, isMultiple, sizeCeilDiv, sizeKnown, sizeMul, sizeSub } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import { position } from '../checked-value.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { reducePlan } from '../reduce.js';
import { isLarger } from '../shape-math.js';
import { permuteTensor } from './view-maps.js';

/** A tensor whose rows along a dimension are put in order; what comes first of two elements is `before`. */
export interface MergedRows {
  readonly l: Lowering;
  readonly x: LoweredTensor;
  readonly at: number;
  readonly length: Size;
  readonly before: (first: Expr, second: Expr) => Expr;
}

/** Elements of the blocks that are ordered by counting. */
const BLOCK = 64;

/**
 * For each place in order, the position of the element that takes it, as int32; equal elements stay in order. If few places
 * are asked for, blocks keep no more than may have one: each round leaves half of the work.
 */
export function mergedOrder(rows: MergedRows, places: Size): LoweredTensor {
  const { l, x, at } = rows;
  const last = x.shape.length - 1;
  if (at === last) return orderOfRows(rows, places);
  const around = x.shape.map((_, d) => d).filter((d) => d !== at);
  const moved = permuteTensor(l, x, [...around, at]);
  const copy = l.fromBuffer(l.storeValue(moved.expr, x.dtype, moved.shape, null));
  const order = orderOfRows({ ...rows, x: copy, at: last }, places);
  order.realize();
  return permuteTensor(l, order, [
    ...around.slice(0, at),
    last,
    ...around.slice(at).map((d) => d - 1),
  ]);
}

/** The same along the last dimension, where elements of a row are next to each other in memory. */
function orderOfRows(rows: MergedRows, places: Size): LoweredTensor {
  let order = blockOrder(rows);
  let size = BLOCK;
  const isShort = (): boolean => sizeKnown(places, '<=', size) === true;
  for (; isLarger(rows.length, size) && !isShort(); size *= 2)
    order = mergePairs(rows, inOrder(rows, order), size);
  let count = rows.length;
  while (isLarger(count, size)) {
    order = mergeFirsts(rows, inOrder(rows, order), size, count);
    count = sizeMul(sizeCeilDiv(count, 2 * size), size);
  }
  return order;
}

/** Positions of elements in the order of each block, and the elements; in memory. */
interface Ordered {
  readonly order: LoweredTensor;
  readonly values: LoweredTensor;
}

/**
 * Elements lie in order too, where bisection reads them: places next to each other look at the same ones. They are read
 * where the order is made, in one kernel.
 */
function inOrder({ l, x, at, length }: MergedRows, order: LoweredTensor): Ordered {
  order.realize();
  const from = position(l, new ExprMath(l.ir).max(order.expr, 0), length);
  const vars = l.vars(order.shape).map((v, d) => (d === at ? from : v));
  const values = l.pointwise(order.shape, x.load(vars));
  values.realize();
  return { order, values };
}

/** `vars` with another position along the rows. */
function along(rows: MergedRows, index: IndexExpr): IndexExpr[] {
  return rows.l.vars(rows.x.shape).map((v, d) => (d === rows.at ? index : v));
}

/** Sums over the positions of the block that a point lies in; past the end of the row there is nothing. */
function overBlock(rows: MergedRows, value: (other: IndexExpr) => Expr): LoweredTensor {
  const { l, x, at, length } = rows;
  const within = l.freshVar('j', BLOCK);
  const start = l.ir.scale(l.ir.div(l.vars(x.shape)[at]!, BLOCK), BLOCK);
  const other = l.ir.add(start, within.index);
  const m = new ExprMath(l.ir);
  const inside = m.lt(l.ir.index('int32', other), length);
  return reducePlan(l, {
    op: 'sum',
    dtype: 'int32',
    sizes: x.shape,
    inner: within.vars,
    order: [...l.loopVars(x.shape), ...within.vars],
    value: isMultiple(length, BLOCK) ? value(other) : l.ir.masked(inside, value(other), 0),
    whole: true,
  })[0]!;
}

function blockOrder(rows: MergedRows): LoweredTensor {
  const { l, x, at } = rows;
  const m = new ExprMath(l.ir);
  const index = (e: IndexExpr): Expr => l.ir.index('int32', e);
  const here = l.vars(x.shape)[at]!;
  const start = l.ir.scale(l.ir.div(here, BLOCK), BLOCK);
  const ranks = overBlock(rows, (j) => {
    const [other, own] = [x.load(along(rows, j)), x.expr];
    const tied = m.and(l.ir.op('not', [rows.before(own, other)]), m.lt(index(j), index(here)));
    return l.ir.cast(l.ir.op('or', [rows.before(other, own), tied]), 'int32');
  });
  ranks.realize();
  const place = index(l.ir.sub(here, start));
  return overBlock(rows, (j) => m.where(m.eq(ranks.load(along(rows, j)), place), index(j), 0));
}

/** Merges ordered blocks of `size` two by two. */
function mergePairs(rows: MergedRows, { order, values }: Ordered, size: number): LoweredTensor {
  const { l, x, at, length } = rows;
  const m = new ExprMath(l.ir);
  const int = (e: IndexExpr): Expr => l.ir.index('int32', e);
  const here = l.vars(x.shape)[at]!;
  const start = l.ir.scale(l.ir.div(here, 2 * size), 2 * size);
  const base = int(start);
  const place = int(l.ir.sub(here, start));
  const firsts = m.min(m.sub(m.term(length, 'int32'), base), size);
  const seconds = m.max(m.min(m.sub(m.term(sizeSub(length, size), 'int32'), base), size), 0);
  const from = (offset: Expr): IndexExpr[] => along(rows, position(l, m.add(base, offset), length));
  const value = (offset: Expr): Expr => values.load(from(offset));
  const second = (k: Expr): Expr => m.add(k, size);
  // How many of the `place` elements before this one are of the first block.
  const least = m.max(m.sub(place, seconds), 0);
  const low = bisected(l, [least, m.min(place, firsts)], Math.ceil(Math.log2(size + 1)), (middle) =>
    rows.before(value(second(m.sub(m.sub(place, middle), 1))), value(middle)),
  );
  const [a, b] = [low, second(m.sub(place, low))];
  const takesSecond = m.and(
    m.lt(m.sub(place, low), seconds),
    l.ir.op('or', [m.ge(low, firsts), rows.before(value(b), value(a))]),
  );
  return l.pointwise(x.shape, m.where(takesSecond, order.load(from(b)), order.load(from(a))));
}

/** The least number between the ends from which on `isFewer` holds, in so many steps; the upper end where it never does. */
function bisected(
  l: Lowering,
  ends: readonly [Expr, Expr],
  steps: number,
  isFewer: (middle: Expr) => Expr,
): Expr {
  const m = new ExprMath(l.ir);
  let [low, high] = ends;
  for (; steps > 0; steps--) {
    const middle = l.ir.op('truncdiv', [m.add(low, high), m.term(2, 'int32')]);
    const isOpen = m.lt(low, high);
    const isBelow = m.and(isOpen, isFewer(middle));
    const isAbove = m.and(isOpen, l.ir.op('not', [isBelow]));
    high = m.where(isBelow, middle, high);
    low = m.where(isAbove, m.add(middle, 1), low);
  }
  return low;
}

/** The first `size` of each two neighbouring blocks of as many, of which `count` places are filled; -1 where there is none. */
function mergeFirsts(
  rows: MergedRows,
  { order, values }: Ordered,
  size: number,
  count: Size,
): LoweredTensor {
  const { l, x, at } = rows;
  const m = new ExprMath(l.ir);
  const int = (e: IndexExpr): Expr => l.ir.index('int32', e);
  const sizes = x.shape.map((own, d) =>
    d === at ? sizeMul(sizeCeilDiv(count, 2 * size), size) : own,
  );
  const vars = l.vars(sizes);
  const base = int(l.ir.scale(l.ir.div(vars[at]!, size), 2 * size));
  const place = int(l.ir.mod(vars[at]!, size));
  const from = (offset: Expr): IndexExpr[] => {
    const index = position(l, m.add(base, offset), count);
    return vars.map((v, d) => (d === at ? index : v));
  };
  const value = (offset: Expr): Expr => values.load(from(offset));
  const origin = (offset: Expr): Expr =>
    l.ir.masked(m.lt(m.add(base, offset), m.term(count, 'int32')), order.load(from(offset)), -1);
  /** Whether an element of the second block comes before one of the first. */
  const isBefore = (b: Expr, a: Expr): Expr =>
    m.and(m.ge(origin(b), 0), l.ir.op('or', [m.lt(origin(a), 0), rows.before(value(b), value(a))]));
  const second = (k: Expr): Expr => m.add(k, size);
  const none = l.ir.const('int32', 0);
  // How many of the `place` elements before this one are of the first block.
  const low = bisected(l, [none, place], Math.ceil(Math.log2(size)), (middle) =>
    isBefore(second(m.sub(m.sub(place, middle), 1)), middle),
  );
  const [a, b] = [low, second(m.sub(place, low))];
  return l.pointwise(sizes, m.where(isBefore(b, a), origin(b), origin(a)));
}
