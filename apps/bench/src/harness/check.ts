/**
 * @file Comparison of results. A wrong result is a failure, not a number.
 */

/** How far a result may be off: `|actual - expected| ≤ atol + rtol · |expected|`. */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/** The element that is furthest off. */
export interface Difference {
  /** How many times the tolerance the largest difference is; more than 1 is wrong, NaN counts as infinite. */
  readonly excess: number;
  readonly index: number;
  readonly actual: number;
  readonly expected: number;
}

/** The largest difference between two results. */
export function largestDifference(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  { rtol, atol }: Tolerance,
): Difference {
  let worst: Difference = { excess: 0, index: -1, actual: 0, expected: 0 };
  for (let i = 0; i < expected.length; i++) {
    const a = actual[i]!;
    const e = expected[i]!;
    if (Object.is(a, e)) continue;
    const excess = Math.abs(a - e) / (atol + rtol * Math.abs(e));
    if (!(excess <= worst.excess)) {
      worst = {
        excess: Number.isNaN(excess) ? Infinity : excess,
        index: i,
        actual: a,
        expected: e,
      };
      if (worst.excess === Infinity) break;
    }
  }
  return worst;
}

/** What is wrong with a result, or null when it is within the tolerance. */
export function mismatch(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: Tolerance,
  expectedName: string,
): string | null {
  if (actual.length !== expected.length) {
    return `${actual.length} elements where ${expectedName} has ${expected.length}`;
  }
  const { excess, index, actual: a, expected: e } = largestDifference(actual, expected, tolerance);
  if (excess <= 1) return null;
  const factor = excess === Infinity ? '' : `, ${excess.toPrecision(2)}× the tolerance`;
  return `element ${index} is ${a}, ${expectedName} has ${e}${factor}`;
}
