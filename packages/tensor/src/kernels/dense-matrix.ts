/**
 * @file Factorizations and solutions of single row-major matrices in double precision, with LAPACK's signs
 * and pivots.
 */

/** q · r, by Householder reflections; q is m × m, r is m × n. @see LAPACK geqrf */
export function householderQr(
  values: Float64Array,
  m: number,
  n: number,
): { q: Float64Array; r: Float64Array } {
  const r = values.slice();
  const q = new Float64Array(m * m);
  for (let i = 0; i < m; i++) q[i * m + i] = 1;
  for (let k = 0; k < Math.min(m - 1, n); k++) {
    let norm = 0;
    for (let i = k + 1; i < m; i++) norm = Math.hypot(norm, r[i * n + k]!);
    // A column that is zero below the diagonal stays.
    if (norm === 0) continue;
    const alpha = r[k * n + k]!;
    const beta = (alpha < 0 ? 1 : -1) * Math.hypot(alpha, norm);
    const v = new Float64Array(m);
    for (let i = k; i < m; i++) v[i] = i === k ? 1 : r[i * n + k]! / (alpha - beta);
    const tau = (beta - alpha) / beta;
    for (let j = 0; j < n; j++) {
      let along = 0;
      for (let i = k; i < m; i++) along += v[i]! * r[i * n + j]!;
      for (let i = k; i < m; i++) r[i * n + j]! -= tau * along * v[i]!;
    }
    for (let i = 0; i < m; i++) {
      let along = 0;
      for (let j = k; j < m; j++) along += q[i * m + j]! * v[j]!;
      for (let j = k; j < m; j++) q[i * m + j]! -= tau * along * v[j]!;
    }
    for (let i = k + 1; i < m; i++) r[i * n + k] = 0;
  }
  return { q, r };
}

/** L and U in one square matrix, and the row that each row was swapped with, from 1. @see LAPACK getrf */
export function luFactor(
  values: Float64Array,
  n: number,
): { lu: Float64Array; pivots: Int32Array; sign: number } {
  const lu = values.slice();
  const pivots = new Int32Array(n);
  let sign = 1;
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++)
      if (Math.abs(lu[i * n + k]!) > Math.abs(lu[best * n + k]!)) best = i;
    pivots[k] = best + 1;
    if (lu[best * n + k] === 0) continue;
    if (best !== k) {
      sign = -sign;
      for (let j = 0; j < n; j++)
        [lu[k * n + j], lu[best * n + j]] = [lu[best * n + j]!, lu[k * n + j]!];
    }
    for (let i = k + 1; i < n; i++) {
      const factor = (lu[i * n + k]! /= lu[k * n + k]!);
      for (let j = k + 1; j < n; j++) lu[i * n + j]! -= factor * lu[k * n + j]!;
    }
  }
  return { lu, pivots, sign };
}

/** Which triangle of a matrix counts, and whether its diagonal counts as ones. */
export interface Triangle {
  readonly upper: boolean;
  readonly unit: boolean;
}

/** Replaces b, n × columns, by the solution of triangle(a) · x = b. */
export function solveTriangle(
  a: Float64Array,
  b: Float64Array,
  n: number,
  columns: number,
  { upper, unit }: Triangle,
): void {
  for (let step = 0; step < n; step++) {
    const i = upper ? n - 1 - step : step;
    for (let c = 0; c < columns; c++) {
      let value = b[i * columns + c]!;
      for (let k = upper ? i + 1 : 0; k < (upper ? n : i); k++)
        value -= a[i * n + k]! * b[k * columns + c]!;
      b[i * columns + c] = unit ? value : value / a[i * n + i]!;
    }
  }
}

/** The transpose of a rows × columns matrix. */
export function transposed(values: Float64Array, rows: number, columns: number): Float64Array {
  return Float64Array.from(
    { length: rows * columns },
    (_, i) => values[(i % rows) * columns + Math.floor(i / rows)]!,
  );
}
