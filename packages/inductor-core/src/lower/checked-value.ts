/**
 * @file Values that eager refuses at run time: indices, class labels, integer divisors and probabilities, with
 * their checks.
 *
 * With `config.inductor.checkIndices` off nothing is refused: places are clamped, so that compiled code reads
 * and writes nowhere else.
 */
import { type Size, sizeSub } from '@tessera/shared';
import { isFloatingPoint } from '@tessera/tensor';
import { indexCheck } from '@tessera/tensor/internal';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { postorder } from '../ir/walk.js';
import { ExprMath } from './expr-math.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { isSame } from './shape-math.js';

/** A place in a dimension that cannot be outside, clamped where that is not evident. */
export function position(l: Lowering, value: Expr, size: Size): IndexExpr {
  const m = new ExprMath(l.ir);
  const { lo, hi } = l.ir.valueBounds(value);
  const isNumber = typeof size === 'number';
  if (isNumber && lo >= 0 && hi < size) return l.ir.value(value);
  return l.ir.value(m.min(m.max(value, 0), isNumber ? Math.max(size - 1, 0) : sizeSub(size, 1)));
}

/** An index of which negative ones count from the end. */
export function wrapped(l: Lowering, index: Expr, size: Size): Expr {
  const m = new ExprMath(l.ir);
  return m.where(m.lt(index, 0), m.add(index, size), index);
}

/** Whether a value lies in [0, size). */
export function isWithin(l: Lowering, value: Expr, size: Size): Expr {
  return l.ir.op('within', [value, l.ir.sizeValue(value.dtype, size)]);
}

/** A place as a value of 32 bits where all places of the dimension are. */
function asPlace(l: Lowering, value: Expr, size: Size): Expr {
  return typeof size !== 'number' || size < 2 ** 31 ? l.ir.cast(value, 'int32') : value;
}

/** An index as a value in [0, size); with `wraps`, negative ones count from the end. Others are refused. */
export function checkedIndex(
  l: Lowering,
  op: string,
  index: Expr,
  size: Size,
  wraps = false,
): Expr {
  const counted = wraps ? wrapped(l, index, size) : index;
  if (!l.checks) return counted;
  const ok = isWithin(l, counted, size);
  return l.check(indexCheck<Size>(op, size, wraps), index, ok, asPlace(l, counted, size));
}

/**
 * Indices that each result compares with, looked at once: a copy in memory, of places that are in range.
 * Without checks, or where they are known to be in range, the indices themselves.
 */
export function checkedIndices(
  l: Lowering,
  op: string,
  indices: LoweredTensor,
  size: Size,
  wraps = false,
): LoweredTensor {
  const place = checkedIndex(l, op, indices.expr, size, wraps);
  if (place === indices.expr) return indices;
  const places = l.pointwise(indices.shape, place);
  if (place.kind === 'check') places.realize();
  return places;
}

/** What is read after the index of a 0-d tensor is known to be 0. */
export function checkedScalar(l: Lowering, op: string, index: Expr, value: Expr): Expr {
  if (!l.checks) return value;
  return l.check(indexCheck(op, 1), index, isWithin(l, index, 1), value);
}

/** A place in a dimension named by an index that a user gave. */
export function checkedPosition(
  l: Lowering,
  op: string,
  index: Expr,
  size: Size,
  wraps = false,
): IndexExpr {
  const place = checkedIndex(l, op, index, size, wraps);
  return l.checks ? l.ir.value(place) : position(l, place, size);
}

/**
 * What is read at places, with the checks of those that reading needed not: of a dimension of one element, or one
 * along which all elements are the same.
 */
export function checkedRead(l: Lowering, value: Expr, places: readonly IndexExpr[]): Expr {
  const checks = places.flatMap((place) =>
    place.kind === 'value' && place.value.kind === 'check' ? [place.value] : [],
  );
  if (checks.length === 0) return value;
  const made = new Set(postorder([value]));
  return checks
    .filter((check) => !made.has(check))
    .reduce((read, { check, subject, ok }) => l.check(check, subject, ok, read), value);
}

/** A class that is safe to index with, and whether it counts; a label that is neither a class nor `ignored` is refused. */
export function checkedLabel(
  l: Lowering,
  op: string,
  label: Expr,
  classes: Size,
  ignored: number,
): { readonly place: IndexExpr; readonly counts: Expr } {
  const m = new ExprMath(l.ir);
  const counts = m.ne(label, ignored);
  const chosen = m.where(counts, label, 0);
  if (!l.checks || isSame(classes, 0)) return { place: position(l, chosen, classes), counts };
  const check = { rule: 'class', op, classes, ignored } as const;
  return {
    place: l.ir.value(
      l.check(check, label, isWithin(l, chosen, classes), asPlace(l, chosen, classes)),
    ),
    counts,
  };
}

/** A divisor; zero is refused if it is an integer. */
export function checkedDivisor(l: Lowering, op: string, divisor: Expr): Expr {
  if (!l.checks || isFloatingPoint(divisor.dtype) || divisor.dtype === 'bool') return divisor;
  const m = new ExprMath(l.ir);
  return l.check({ rule: 'divisor', op }, divisor, m.ne(divisor, 0), divisor);
}

/** A value of an argument; others than probabilities are refused. */
export function checkedProbability(l: Lowering, op: string, argument: string, value: Expr): Expr {
  if (!l.checks) return value;
  const m = new ExprMath(l.ir);
  const ok = m.and(m.ge(value, 0), m.le(value, 1));
  // The error names no value, and one that is between integers could not be noted.
  return l.check({ rule: 'probability', op, argument }, l.ir.const('int32', 0), ok, value);
}
