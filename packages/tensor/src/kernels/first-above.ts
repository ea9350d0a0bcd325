/**
 * @file Search in ascending numbers.
 */

/** Where the first of ascending numbers is that exceeds a value; the last one if none does. */
export function firstAbove(ascending: Float64Array, value: number): number {
  let low = 0;
  for (let high = ascending.length - 1; low < high;) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
