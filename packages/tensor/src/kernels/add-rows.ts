/**
 * @file Sums of multiples of rows, on which linear algebra runs: four rows at a time, along memory.
 */

/** Adds `count` rows of x, which are `step` apart, to `width` elements of y, times factors that are `next` apart. */
export function addRows(
  y: Float64Array,
  at: number,
  width: number,
  x: Float64Array,
  from: number,
  step: number,
  factors: Float64Array,
  first: number,
  next: number,
  count: number,
  sign: number,
): void {
  let i = 0;
  for (; i + 3 < count; i += 4) {
    const [a, b, c] = [from + i * step, from + (i + 1) * step, from + (i + 2) * step];
    const d = from + (i + 3) * step;
    const k = first + i * next;
    const [p, q] = [sign * factors[k]!, sign * factors[k + next]!];
    const [r, s] = [sign * factors[k + 2 * next]!, sign * factors[k + 3 * next]!];
    for (let j = 0; j < width; j++)
      y[at + j] = y[at + j]! + p * x[a + j]! + q * x[b + j]! + r * x[c + j]! + s * x[d + j]!;
  }
  for (; i < count; i++) {
    const a = from + i * step;
    const p = sign * factors[first + i * next]!;
    for (let j = 0; j < width; j++) y[at + j]! += p * x[a + j]!;
  }
}
