/**
 * @file Integer intervals: the values a symbolic size can take.
 *
 * Bounds are safe integers or ±Infinity; a bound that would leave the safe range becomes infinite,
 * so an interval may be too wide but never too narrow. Modelled on
 * `torch.utils._sympy.value_ranges`.
 */

/** All integers from `lo` to `hi`, both included. */
export interface ValueRange {
  readonly lo: number;
  readonly hi: number;
}

/** Every integer. */
export const ANY_INTEGER: ValueRange = { lo: -Infinity, hi: Infinity };

/** The range that holds exactly one value. */
export function exactly(value: number): ValueRange {
  return { lo: value, hi: value };
}

/** True when the range holds `value`. */
export function inRange(range: ValueRange, value: number): boolean {
  return range.lo <= value && value <= range.hi;
}

/** The values in both ranges; facts that contradict each other give `lo > hi`. */
export function intersectRanges(a: ValueRange, b: ValueRange): ValueRange {
  return { lo: Math.max(a.lo, b.lo), hi: Math.min(a.hi, b.hi) };
}

/** The smallest range that holds both. */
export function unionRanges(a: ValueRange, b: ValueRange): ValueRange {
  return { lo: Math.min(a.lo, b.lo), hi: Math.max(a.hi, b.hi) };
}

/** Whether all of `inner` lies in `outer`. */
export function liesWithin(inner: ValueRange, outer: ValueRange): boolean {
  return inner.lo >= outer.lo && inner.hi <= outer.hi;
}

/** Range of `a + b`. */
export function addRanges(a: ValueRange, b: ValueRange): ValueRange {
  return rangeOf(a.lo + b.lo, a.hi + b.hi);
}

/** Range of `factor * a`, for a finite factor. */
export function scaleRange(a: ValueRange, factor: number): ValueRange {
  const lo = times(a.lo, factor);
  const hi = times(a.hi, factor);
  return factor >= 0 ? rangeOf(lo, hi) : rangeOf(hi, lo);
}

/** Range of `a * b`. */
export function multiplyRanges(a: ValueRange, b: ValueRange): ValueRange {
  const corners = [times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)];
  return rangeOf(Math.min(...corners), Math.max(...corners));
}

/** Range of `floor(n / d)`; any integer unless `d` is known to be positive. */
export function floorDivRanges(n: ValueRange, d: ValueRange): ValueRange {
  if (d.lo <= 0) return ANY_INTEGER;
  const lo = n.lo >= 0 ? floorQuotient(n.lo, d.hi) : floorQuotient(n.lo, d.lo);
  const hi = n.hi >= 0 ? floorQuotient(n.hi, d.lo) : floorQuotient(n.hi, d.hi);
  return rangeOf(lo, hi);
}

/** Range of `n mod d` with the sign of `d`; any integer unless `d` is known to be positive. */
export function modRanges(n: ValueRange, d: ValueRange): ValueRange {
  if (d.lo <= 0) return ANY_INTEGER;
  if (n.lo >= 0 && n.hi < d.lo) return n;
  return rangeOf(0, n.lo >= 0 ? Math.min(n.hi, d.hi - 1) : d.hi - 1);
}

/** Range of `min(a, b)`. */
export function minRanges(a: ValueRange, b: ValueRange): ValueRange {
  return { lo: Math.min(a.lo, b.lo), hi: Math.min(a.hi, b.hi) };
}

/** Range of `max(a, b)`. */
export function maxRanges(a: ValueRange, b: ValueRange): ValueRange {
  return { lo: Math.max(a.lo, b.lo), hi: Math.max(a.hi, b.hi) };
}

function rangeOf(lo: number, hi: number): ValueRange {
  return {
    lo: lo < -Number.MAX_SAFE_INTEGER ? -Infinity : Math.min(lo, Number.MAX_SAFE_INTEGER) + 0,
    hi: hi > Number.MAX_SAFE_INTEGER ? Infinity : Math.max(hi, -Number.MAX_SAFE_INTEGER) + 0,
  };
}

/** Product where 0 · ∞ is 0: the other factor is some finite integer, however large. */
function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b;
}

/** Limit of `floor(n / d)` for `d > 0`, where either may be infinite. */
function floorQuotient(n: number, d: number): number {
  if (d !== Infinity) return Math.floor(n / d);
  return n >= 0 ? 0 : -1;
}
