/**
 * @file Sums of the rows that have the same key: gradients of tables that were looked up in, rows of bags.
 *
 * Where points of loops follow an order, rows are added one after another (put-in-steps.ts). Elsewhere each sum looks at
 * all rows or, where that is much, rows are added at once if that is possible (put-combined.ts), or partial sums are joined in rounds: after round r a row has the sum of its own and of
 * up to 2^r - 1 rows before it with its key, so after log₂ rounds the last row of each key has the whole sum. With n
 * keys, p rows and c columns that takes p c log p additions and n p + p² comparisons instead of n p c of both. No form
 * multiplies rows by zero: an infinity or NaN is in the sum of its key only. @see Hillis and Steele, "Data parallel
 * algorithms"
 */
import { type Size, sizeHint, sizeMul } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import { rangeOfSize } from '../ir/index-bounds.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { affordable } from './affordable.js';
import { checkedPosition, position } from './checked-value.js';
import { ExprMath } from './expr-math.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { combinesFaster, sumAtPlaces } from './put-combined.js';
import { takesSteps } from './put-in-steps.js';
import { accumulateDtype } from './reduce.js';
import { reduceOver } from './ops/distance.js';

/** Comparisons from which rounds pay for their launches. */
const MANY_COMPARISONS = 2 ** 20;

/** Comparisons of rounds from which stores that combine pay for memory of their own (put-combined.ts). */
const COMPARISONS_OF_ROUNDS = 2 ** 29;

/** Rows [rows, columns] with keys. */
export interface KeyedRows {
  readonly rows: Size;
  readonly columns: Size;
  readonly dtype: DType;
  readonly value: (row: IndexExpr, column: IndexExpr) => Expr;
  readonly key: (row: IndexExpr) => Expr;
  /** Number of keys. */
  readonly keys: Size;
  /** The operator that refuses other keys; absent if there are none. */
  readonly checkedBy?: string;
  /** Whether rows with the same key follow each other. */
  readonly isSorted?: boolean;
}

/** [keys, columns]; see the file header. */
export function sumsByKey(l: Lowering, given: KeyedRows): LoweredTensor {
  const { rows, columns, dtype, value, key, keys, checkedBy } = given;
  if (takesSteps(l) || combinesRows(l, given)) {
    const sizes = [rows, columns];
    const [row, column] = l.vars(sizes);
    const own = key(row!);
    const place =
      checkedBy === undefined ? position(l, own, keys) : checkedPosition(l, checkedBy, own, keys);
    const term = { coords: [place, column!], value: value(row!, column!) };
    const sum = sumAtPlaces(l, [keys, columns], dtype, { sizes, along: [0] }, [term]);
    if (sum !== null) return sum;
  }
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(dtype);
  const sizes = [keys, columns];
  const [own, column] = l.vars(sizes);
  const isOwn = (row: IndexExpr): Expr => {
    const its = key(row);
    return m.eq(its, l.ir.index(its.dtype, own!));
  };
  const comparisons = sizeHint(sizeMul(sizeMul(keys, columns), rows));
  if (comparisons < MANY_COMPARISONS) {
    const sum = reduceOver(l, 'sum', sizes, rows, (row) =>
      m.where(isOwn(row), m.cast(value(row, column!), acc), 0),
    );
    return l.pointwise(sizes, m.cast(sum, dtype));
  }
  const sums = sumsAtRows(l, given, acc);
  const last = reduceOver(l, 'max', [keys], rows, (row) =>
    m.where(isOwn(row), l.ir.index('int32', row), l.ir.const('int32', -1)),
  );
  const at = l.pointwise([keys], last).load([own!]);
  const sum = sums.load([position(l, at, rows), column!]);
  return l.pointwise(sizes, m.cast(l.ir.masked(m.ge(at, 0), sum, 0), dtype));
}

/** Whether rows that are added at their keys are better than rounds: neighbours with one key would wait for each other. */
function combinesRows(l: Lowering, given: KeyedRows): boolean {
  const { rows, columns, keys, isSorted = false } = given;
  const comparisons = sizeHint(rows) * (sizeHint(rows) + sizeHint(keys));
  if (isSorted || comparisons < COMPARISONS_OF_ROUNDS) return false;
  return combinesFaster(l, sizeMul(keys, columns), rows, sizeMul(rows, columns), 'float32');
}

/** Sums of each row and all before it with its key, [rows, columns]. */
function sumsAtRows(
  l: Lowering,
  { rows, columns, value, key, isSorted }: KeyedRows,
  acc: DType,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const sizes = [rows, columns];
  const [row, column] = l.vars(sizes);
  const none = l.ir.const('int32', -1);
  const at = l.ir.index('int32', row!);
  /** A row before that has the same key, or none. */
  const sharing = (other: IndexExpr, isBefore: Expr): Expr =>
    m.where(m.and(m.eq(key(other), key(row!)), isBefore), l.ir.index('int32', other), none);
  const before = m.sub(at, 1);
  const found =
    isSorted === true
      ? sharing(position(l, before, rows), m.ge(before, 0))
      : reduceOver(l, 'max', [rows], rows, (other) =>
          sharing(other, m.lt(l.ir.index('int32', other), at)),
        );
  let back = l.pointwise([rows], found);
  let sums = l.pointwise(sizes, m.cast(value(row!, column!), acc));
  // Of a symbolic size as many as the largest needs; those that find nothing add nothing.
  const most = Math.min(rangeOfSize(rows).hi, 2 ** 31);
  for (let reach = 1; reach < most; reach *= 2) {
    back.realize();
    sums.realize();
    const from = back.load([row!]);
    const isThere = m.ge(from, 0);
    const place = position(l, from, rows);
    const earlier = l.ir.masked(isThere, sums.load([place, column!]), 0);
    sums = l.pointwise(sizes, m.add(earlier, sums.expr));
    back = l.pointwise([rows], m.where(isThere, back.load([place]), none));
  }
  sums.realize();
  return sums;
}

/** How often `count` places name each of `size`, each counted by itself; null where comparing each with all is as good. */
export function countInSteps(
  l: Lowering,
  size: Size,
  count: Size,
  place: (i: IndexExpr) => Expr,
  counts: (i: IndexExpr) => Expr = () => l.ir.const('int32', 1),
): LoweredTensor | null {
  const isFast = combinesFaster(l, size, count, count, 'int32');
  if (!isFast && affordable(l, size, count, count, 'scatter')) return null;
  const [i] = l.vars([count]);
  const value = l.ir.cast(counts(i!), 'int32');
  const coords = [position(l, place(i!), size)];
  return sumAtPlaces(l, [size], 'int32', { sizes: [count], along: [0] }, [{ coords, value }]);
}
