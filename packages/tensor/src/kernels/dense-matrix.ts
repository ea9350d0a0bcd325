/**
 * @file Factorizations and solutions of single row-major matrices in double precision, with LAPACK's signs
 * and pivots.
 */

/** What `householderFactors` makes. */
export interface HouseholderFactors {
  /** R from the diagonal on; below it the vectors of the reflections, whose elements on the diagonal are ones: m × n. */
  readonly packed: Float64Array;
  /** The factor of each reflection 1 - τ v vᵀ; 0 where a column stays as it is: min(m, n). */
  readonly tau: Float64Array;
}

/** The QR decomposition as reflections. @see LAPACK geqrf */
export function householderFactors(values: Float64Array, m: number, n: number): HouseholderFactors {
  const packed = values.slice();
  const tau = new Float64Array(Math.min(m, n));
  for (let k = 0; k < Math.min(m - 1, n); k++) {
    let norm = 0;
    for (let i = k + 1; i < m; i++) norm = Math.hypot(norm, packed[i * n + k]!);
    // A column that is zero below the diagonal stays.
    if (norm === 0) continue;
    const alpha = packed[k * n + k]!;
    const beta = (alpha < 0 ? 1 : -1) * Math.hypot(alpha, norm);
    tau[k] = (beta - alpha) / beta;
    packed[k * n + k] = beta;
    for (let i = k + 1; i < m; i++) packed[i * n + k]! /= alpha - beta;
    for (let j = k + 1; j < n; j++) {
      let along = packed[k * n + j]!;
      for (let i = k + 1; i < m; i++) along += packed[i * n + k]! * packed[i * n + j]!;
      packed[k * n + j]! -= tau[k] * along;
      for (let i = k + 1; i < m; i++) packed[i * n + j]! -= tau[k] * along * packed[i * n + k]!;
    }
  }
  return { packed, tau };
}

/** q · r, by Householder reflections; q is m × m, r is m × n. */
export function householderQr(
  values: Float64Array,
  m: number,
  n: number,
): { q: Float64Array; r: Float64Array } {
  const { packed, tau } = householderFactors(values, m, n);
  const r = packed.map((value, i) => (Math.floor(i / n) > i % n ? 0 : value));
  const q = new Float64Array(m * m);
  for (let i = 0; i < m; i++) q[i * m + i] = 1;
  for (let k = 0; k < tau.length; k++) {
    if (tau[k] === 0) continue;
    for (let i = 0; i < m; i++) {
      let along = q[i * m + k]!;
      for (let j = k + 1; j < m; j++) along += q[i * m + j]! * packed[j * n + k]!;
      q[i * m + k]! -= tau[k]! * along;
      for (let j = k + 1; j < m; j++) q[i * m + j]! -= tau[k]! * along * packed[j * n + k]!;
    }
  }
  return { q, r };
}

/** What `luFactor` makes. */
export interface LuFactors {
  /** L below the diagonal (its own is ones), U from the diagonal on: m × n. */
  readonly lu: Float64Array;
  /** The row that each row was swapped with, from 1. */
  readonly pivots: Int32Array;
  /** -1 for an odd number of swaps, else 1. */
  readonly sign: number;
  /** Which diagonal element of U is the first that is 0, from 1; else 0. */
  readonly info: number;
}

/** L and U of an m × n matrix with its rows swapped, unless `pivot` is false. @see LAPACK getrf */
export function luFactor(values: Float64Array, m: number, n: number = m, pivot = true): LuFactors {
  const lu = values.slice();
  const pivots = new Int32Array(Math.min(m, n));
  let sign = 1;
  let info = 0;
  for (let k = 0; k < pivots.length; k++) {
    let best = k;
    if (pivot)
      for (let i = k + 1; i < m; i++)
        if (Math.abs(lu[i * n + k]!) > Math.abs(lu[best * n + k]!)) best = i;
    pivots[k] = best + 1;
    if (lu[best * n + k] === 0) {
      if (info === 0) info = k + 1;
      continue;
    }
    if (best !== k) {
      sign = -sign;
      for (let j = 0; j < n; j++)
        [lu[k * n + j], lu[best * n + j]] = [lu[best * n + j]!, lu[k * n + j]!];
    }
    for (let i = k + 1; i < m; i++) {
      const factor = (lu[i * n + k]! /= lu[k * n + k]!);
      for (let j = k + 1; j < n; j++) lu[i * n + j]! -= factor * lu[k * n + j]!;
    }
  }
  return { lu, pivots, sign, info };
}

/** Replaces b, n × columns, by the solution for the matrix that was factored, or for its transpose. @see LAPACK getrs */
export function luSolveMatrix(
  lu: Float64Array,
  pivots: ArrayLike<number>,
  b: Float64Array,
  n: number,
  columns: number,
  adjoint: boolean,
): void {
  const swap = (i: number): void => {
    const j = pivots[i]! - 1;
    if (i === j) return;
    for (let c = 0; c < columns; c++)
      [b[i * columns + c], b[j * columns + c]] = [b[j * columns + c]!, b[i * columns + c]!];
  };
  if (!adjoint) {
    for (let i = 0; i < n; i++) swap(i);
    solveTriangle(lu, b, n, columns, { upper: false, unit: true });
    solveTriangle(lu, b, n, columns, { upper: true, unit: false });
    return;
  }
  const turned = transposed(lu, n, n);
  solveTriangle(turned, b, n, columns, { upper: false, unit: false });
  solveTriangle(turned, b, n, columns, { upper: true, unit: true });
  for (let i = n - 1; i >= 0; i--) swap(i);
}

/** The inverse of a square matrix, and `info` of its factors: if it is not 0 there is none. */
export function invertMatrix(
  values: Float64Array,
  n: number,
): { inverse: Float64Array; info: number } {
  const { lu, pivots, info } = luFactor(values, n);
  const inverse = new Float64Array(n * n);
  for (let i = 0; i < n; i++) inverse[i * n + i] = 1;
  luSolveMatrix(lu, pivots, inverse, n, n, false);
  return { inverse, info };
}

/**
 * Replaces the lower triangle of a symmetric positive-definite matrix by L with L Lᵀ = values, and the rest by zeros.
 * Returns the order of the first leading minor that is not positive, else 0. @see LAPACK potrf
 */
export function choleskyFactor(values: Float64Array, n: number): number {
  for (let i = 0; i < n; i++) values.fill(0, i * n + i + 1, (i + 1) * n);
  for (let j = 0; j < n; j++) {
    let diagonal = values[j * n + j]!;
    for (let k = 0; k < j; k++) diagonal -= values[j * n + k]! ** 2;
    if (!(diagonal > 0)) {
      values[j * n + j] = diagonal;
      return j + 1;
    }
    const root = (values[j * n + j] = Math.sqrt(diagonal));
    for (let i = j + 1; i < n; i++) {
      let value = values[i * n + j]!;
      for (let k = 0; k < j; k++) value -= values[i * n + k]! * values[j * n + k]!;
      values[i * n + j] = value / root;
    }
  }
  return 0;
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
