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
    // Sums of two, which do not wait for each other.
    for (let j = 0; j < width; j++)
      y[at + j]! += p * x[a + j]! + q * x[b + j]! + (r * x[c + j]! + s * x[d + j]!);
  }
  for (; i < count; i++) {
    const a = from + i * step;
    const p = sign * factors[first + i * next]!;
    for (let j = 0; j < width; j++) y[at + j]! += p * x[a + j]!;
  }
}

/** Rows of numbers, from `at` on, `step` apart. */
export interface Rows {
  readonly values: Float64Array;
  readonly at: number;
  readonly step: number;
}

/** Factors for sums of rows: those of the next sum are `step` further, that of the next row in a sum is `next` further. */
export interface Factors extends Rows {
  readonly next: number;
}

/**
 * Adds a product of matrices: to `rows` rows of y, of `width` elements, sums of `count` rows of x times factors. Two rows at a time,
 * so that what is read of x serves both. What is read must not be what is written.
 */
export function addProduct(
  y: Rows,
  rows: number,
  width: number,
  x: Rows,
  factors: Factors,
  count: number,
  sign: 1 | -1,
): void {
  const [to, of, by] = [y.values, x.values, factors.values];
  const { next } = factors;
  const whole = count - (count % 4);
  const rest = x.at + whole * x.step;
  for (let row = 0; row < rows; row += 2) {
    const at = y.at + row * y.step;
    const first = factors.at + row * factors.step;
    if (row === rows - 1) {
      addRows(to, at, width, of, x.at, x.step, by, first, next, count, sign);
      return;
    }
    const below = at + y.step;
    const second = first + factors.step;
    for (let i = 0; i < whole; i += 4) {
      const a = x.at + i * x.step;
      const [b, c, d] = [a + x.step, a + 2 * x.step, a + 3 * x.step];
      const [k, l] = [first + i * next, second + i * next];
      const [p, q] = [sign * by[k]!, sign * by[k + next]!];
      const [r, s] = [sign * by[k + 2 * next]!, sign * by[k + 3 * next]!];
      const [t, u] = [sign * by[l]!, sign * by[l + next]!];
      const [v, w] = [sign * by[l + 2 * next]!, sign * by[l + 3 * next]!];
      for (let j = 0; j < width; j++) {
        const e = of[a + j]!;
        const f = of[b + j]!;
        const g = of[c + j]!;
        const h = of[d + j]!;
        to[at + j]! += p * e + q * f + (r * g + s * h);
        to[below + j]! += t * e + u * f + (v * g + w * h);
      }
    }
    const left = count - whole;
    if (left === 0) continue;
    addRows(to, at, width, of, rest, x.step, by, first + whole * next, next, left, sign);
    addRows(to, below, width, of, rest, x.step, by, second + whole * next, next, left, sign);
  }
}
