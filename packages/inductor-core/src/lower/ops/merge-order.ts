/**
 * @file The order of long rows by merging, for devices without another way: n log² n comparisons, no writes to
 * computed places.
 *
 * Short blocks are ordered by counting, then neighbours are merged until one is left. Every place of a merged
 * block finds by bisection how many of the elements before it come from the first half, so all places are
 * computed at once. @see Green, Odeh, Birk, "Merge Path", 2014
 */
import { type Size, isMultiple, sizeSub } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import { position } from '../checked-value.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { reducePlan } from '../reduce.js';
import { isLarger } from '../shape-math.js';

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

/** For each place in order, the position of the element that takes it, as int32; equal elements stay in order. */
export function mergedOrder(rows: MergedRows): LoweredTensor {
  let order = blockOrder(rows);
  for (let size = BLOCK; isLarger(rows.length, size); size *= 2) {
    order.realize();
    order = mergePairs(rows, order, size);
  }
  return order;
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
function mergePairs(rows: MergedRows, order: LoweredTensor, size: number): LoweredTensor {
  const { l, x, at, length } = rows;
  const m = new ExprMath(l.ir);
  const int = (e: IndexExpr): Expr => l.ir.index('int32', e);
  const here = l.vars(x.shape)[at]!;
  const start = l.ir.scale(l.ir.div(here, 2 * size), 2 * size);
  const base = int(start);
  const place = int(l.ir.sub(here, start));
  const firsts = m.min(m.sub(m.term(length, 'int32'), base), size);
  const seconds = m.max(m.min(m.sub(m.term(sizeSub(length, size), 'int32'), base), size), 0);
  const element = (offset: Expr): { readonly at: Expr; readonly value: Expr } => {
    const from = order.load(along(rows, position(l, m.add(base, offset), length)));
    return { at: from, value: x.load(along(rows, position(l, from, length))) };
  };
  const second = (k: Expr): ReturnType<typeof element> => element(m.add(k, size));
  // How many of the `place` elements before this one are of the first block.
  let low = m.max(m.sub(place, seconds), 0);
  let high = m.min(place, firsts);
  for (let steps = Math.ceil(Math.log2(size + 1)); steps > 0; steps--) {
    const middle = l.ir.op('truncdiv', [m.add(low, high), m.term(2, 'int32')]);
    const other = second(m.sub(m.sub(place, middle), 1));
    const isOpen = m.lt(low, high);
    const isFewer = m.and(isOpen, rows.before(other.value, element(middle).value));
    const isMore = m.and(isOpen, l.ir.op('not', [isFewer]));
    high = m.where(isFewer, middle, high);
    low = m.where(isMore, m.add(middle, 1), low);
  }
  const [a, b] = [element(low), second(m.sub(place, low))];
  const takesSecond = m.and(
    m.lt(m.sub(place, low), seconds),
    l.ir.op('or', [m.ge(low, firsts), rows.before(b.value, a.value)]),
  );
  return l.pointwise(x.shape, m.where(takesSecond, b.at, a.at));
}
