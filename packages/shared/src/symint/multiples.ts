/**
 * @file Sizes as multiples of one another.
 */
import { gcd } from './integer-arithmetic.js';
import { type Size, sizeFloorDiv, sizeKnown, sizeMod } from './size.js';

/** Whether a size is certainly a multiple of another, whatever the symbols. */
export function isMultiple(size: Size, of: Size): boolean {
  if (of === 1) return true;
  if (typeof size === 'number' && typeof of === 'number') return size % of === 0;
  if (size === 0 || size === of) return true;
  // A number is no multiple of what may be larger.
  return typeof size !== 'number' && sizeKnown(sizeMod(size, of), '==', 0) === true;
}

/** A size divided by one that it is a multiple of; null if it is not. */
export function quotientOf(size: Size, by: Size): Size | null {
  return isMultiple(size, by) ? sizeFloorDiv(size, by) : null;
}

/** The largest number that a size is certainly a multiple of. */
function numberIn(size: Size): number {
  if (typeof size === 'number') return size;
  return size.kind === 'sum' ? size.coeffs.reduce(gcd, size.constant) : 1;
}

/** A unit in which both sizes are whole: the smaller one if it divides the other, else a number. */
export function commonUnit(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return gcd(a, b);
  if (typeof a !== 'number' && isMultiple(b, a)) return a;
  return Math.max(gcd(numberIn(a), numberIn(b)), 1);
}
