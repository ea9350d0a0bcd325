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
 * Adds a product of matrices: to `rows` rows of y, of `width` elements, sums of `count` rows of x times factors. Four rows at a time,
 * so that what is read of x serves all. What is read must not be what is written.
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
  const { next, step } = factors;
  // Short rows are over before sixteen factors have paid.
  const together = width < 32 ? 0 : rows - (rows % 4);
  const whole = count - (count % 4);
  for (let row = 0; row < together; row += 4) {
    const at = y.at + row * y.step;
    const [at1, at2, at3] = [at + y.step, at + 2 * y.step, at + 3 * y.step];
    for (let i = 0; i < whole; i += 4) {
      const a = x.at + i * x.step;
      const [b, c, d] = [a + x.step, a + 2 * x.step, a + 3 * x.step];
      let k = factors.at + row * step + i * next;
      const [p0, q0] = [sign * by[k]!, sign * by[k + next]!];
      const [r0, s0] = [sign * by[k + 2 * next]!, sign * by[k + 3 * next]!];
      k += step;
      const [p1, q1] = [sign * by[k]!, sign * by[k + next]!];
      const [r1, s1] = [sign * by[k + 2 * next]!, sign * by[k + 3 * next]!];
      k += step;
      const [p2, q2] = [sign * by[k]!, sign * by[k + next]!];
      const [r2, s2] = [sign * by[k + 2 * next]!, sign * by[k + 3 * next]!];
      k += step;
      const [p3, q3] = [sign * by[k]!, sign * by[k + next]!];
      const [r3, s3] = [sign * by[k + 2 * next]!, sign * by[k + 3 * next]!];
      for (let j = 0; j < width; j++) {
        const e = of[a + j]!;
        const f = of[b + j]!;
        const g = of[c + j]!;
        const h = of[d + j]!;
        to[at + j]! += p0 * e + q0 * f + (r0 * g + s0 * h);
        to[at1 + j]! += p1 * e + q1 * f + (r1 * g + s1 * h);
        to[at2 + j]! += p2 * e + q2 * f + (r2 * g + s2 * h);
        to[at3 + j]! += p3 * e + q3 * f + (r3 * g + s3 * h);
      }
    }
  }
  // What is left of the sums, and of the rows.
  for (let row = whole === count ? together : 0; row < rows; row++) {
    const done = row < together ? whole : 0;
    const first = factors.at + row * step + done * next;
    const from = x.at + done * x.step;
    addRows(to, y.at + row * y.step, width, of, from, x.step, by, first, next, count - done, sign);
  }
}
