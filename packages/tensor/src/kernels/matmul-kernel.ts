/**
 * @file The reference matrix product: batches of row-major matrices in double precision.
 */

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
  for (let i = 0; i < m; i++) {
    const row = at.c + i * n;
    for (let p = 0; p < k; p++) {
      const left = scale * a[at.a + i * k + p]!;
      const column = at.b + p * n;
      for (let j = 0; j < n; j++) c[row + j]! += left * b[column + j]!;
    }
  }
}
