/**
 * @file The reference matrix product: batches of row-major matrices in double precision.
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

/** Adds `scale · a @ b` to `c`: [m, k] @ [k, n], at offsets into the three arrays. */
export function multiplyAdd(
  a: Float64Array,
  b: Float64Array,
  c: Float64Array,
  m: number,
  k: number,
  n: number,
  scale = 1,
  at = { a: 0, b: 0, c: 0 },
): void {
  for (let i = 0; i < m; i++) addRows(c, at.c + i * n, n, b, at.b, n, a, at.a + i * k, 1, k, scale);
}
