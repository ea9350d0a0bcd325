/**
 * @file Which parts of a result are compared with the reference: short runs of elements spread over it,
 * its start and its end among them, so that checking costs little and sees every tile and tail.
 */

/** Elements `start` … `start + count - 1` of a flattened result. */
export interface Range {
  readonly start: number;
  readonly count: number;
}

/** Number of runs and elements in each. */
const RUNS = 61;
const RUN_LENGTH = 67;

/** Ranges that cover small results whole and large ones in samples. */
export function checkedRanges(numel: number): Range[] {
  if (numel <= RUNS * RUN_LENGTH) return [{ start: 0, count: numel }];
  const last = numel - RUN_LENGTH;
  return Array.from({ length: RUNS }, (_, i) => ({
    start: Math.floor((i * last) / (RUNS - 1)),
    count: RUN_LENGTH,
  }));
}

/** Elements of a whole result that lie in the ranges, in their order. */
export function pickRanges(whole: Float32Array, ranges: readonly Range[]): Float32Array {
  const picked = new Float32Array(ranges.reduce((sum, { count }) => sum + count, 0));
  let at = 0;
  for (const { start, count } of ranges) {
    picked.set(whole.subarray(start, start + count), at);
    at += count;
  }
  return picked;
}

/** Reference values of the ranges, element by element. */
export function referenceValues(
  ranges: readonly Range[],
  valueAt: (index: number) => number,
): Float64Array {
  const values = new Float64Array(ranges.reduce((sum, { count }) => sum + count, 0));
  let at = 0;
  for (const { start, count } of ranges) {
    for (let i = start; i < start + count; i++) values[at++] = valueAt(i);
  }
  return values;
}

/** Reads some typed arrays as one result, one after the other. */
export function concatenated(parts: readonly ArrayLike<number>[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
