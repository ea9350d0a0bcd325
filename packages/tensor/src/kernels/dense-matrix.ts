/**
 * @file Factorizations and solutions of single row-major matrices in double precision, with LAPACK's signs
 * and pivots.
 */
import { addRows } from './add-rows.js';

/** What `householderFactors` makes. */
export interface HouseholderFactors {
  /** R from the diagonal on; below it the vectors of the reflections, whose elements on the diagonal are ones: m × n. */
  readonly packed: Float64Array;
  /** The factor of each reflection 1 - τ v vᵀ; 0 where a column stays as it is: min(m, n). */
  readonly tau: Float64Array;
}

/**
 * Makes the vector of a reflection of `count` elements that are `step` apart, of which all but the first become 0: that
 * one is left as it becomes, and is 1 in the vector. Returns the factor τ. @see LAPACK larfg
 */
export function makeReflection(a: Float64Array, at: number, step: number, count: number): number {
  let largest = 0;
  for (let i = 1; i < count; i++) largest = Math.max(largest, Math.abs(a[at + i * step]!));
  // What is zero already stays.
  if (largest === 0) return 0;
  let squares = 0;
  for (let i = 1; i < count; i++) squares += (a[at + i * step]! / largest) ** 2;
  const alpha = a[at]!;
  const beta = (alpha < 0 ? 1 : -1) * hypot(alpha, largest * Math.sqrt(squares));
  for (let i = 1; i < count; i++) a[at + i * step]! /= alpha - beta;
  a[at] = beta;
  return (beta - alpha) / beta;
}

/** Reflects the columns of rows × columns elements from `at` on by a vector that `makeReflection` left at `v`. */
export function reflectColumns(
  a: Float64Array,
  at: number,
  rows: number,
  columns: number,
  width: number,
  vectors: Float64Array,
  v: number,
  step: number,
  tau: number,
): void {
  if (tau === 0) return;
  const along = a.slice(at, at + columns);
  addRows(along, 0, columns, a, at + width, width, vectors, v + step, step, rows - 1, 1);
  for (let i = 0; i < rows; i++) {
    const scale = i === 0 ? tau : tau * vectors[v + i * step]!;
    const row = at + i * width;
    for (let j = 0; j < columns; j++) a[row + j]! -= scale * along[j]!;
  }
}

/** The QR decomposition as reflections. @see LAPACK geqrf */
export function householderFactors(values: Float64Array, m: number, n: number): HouseholderFactors {
  const packed = values.slice();
  const tau = new Float64Array(Math.min(m, n));
  for (let k = 0; k < Math.min(m - 1, n); k++) {
    const at = k * n + k;
    tau[k] = makeReflection(packed, at, n, m - k);
    reflectColumns(packed, at + 1, m - k, n - k - 1, n, packed, at, n, tau[k]!);
  }
  return { packed, tau };
}

/**
 * The first columns of the product of reflections, m × columns. Vector k starts in row k of a matrix of `width`, in the
 * column of the element `skip + k` that it reflects first; its elements are `step` apart.
 */
export function reflectionProduct(
  vectors: Float64Array,
  tau: ArrayLike<number>,
  m: number,
  columns: number,
  width: number,
  step: number = width,
  skip = 0,
): Float64Array {
  const q = new Float64Array(m * columns);
  for (let i = 0; i < Math.min(m, columns); i++) q[i * columns + i] = 1;
  for (let k = Math.min(tau.length, columns - skip) - 1; k >= 0; k--) {
    const i = k + skip;
    const v = k * width + i;
    reflectColumns(q, i * columns + i, m - i, columns - i, columns, vectors, v, step, tau[k]!);
  }
  return q;
}

/** q · r, by Householder reflections; q is m × count, r is m × n. */
export function householderQr(
  values: Float64Array,
  m: number,
  n: number,
  count: number,
): { q: Float64Array; r: Float64Array } {
  const { packed, tau } = householderFactors(values, m, n);
  const q = reflectionProduct(packed, tau, m, count, n);
  for (let i = 1; i < m; i++) packed.fill(0, i * n, i * n + Math.min(i, n));
  return { q, r: packed };
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

/** Columns that are eliminated together. */
const PANEL = 32;

/** L and U of an m × n matrix with its rows swapped, unless `pivot` is false. @see LAPACK getrf */
export function luFactor(values: Float64Array, m: number, n: number = m, pivot = true): LuFactors {
  const lu = values.slice();
  const pivots = new Int32Array(Math.min(m, n));
  let sign = 1;
  let info = 0;
  // What a column that is zero on the diagonal has below it takes no part: only then, without pivots, it is not zero too.
  const most = pivot ? PANEL : 1;
  for (let start = 0, end = 0; start < pivots.length; start = end) {
    end = Math.min(pivots.length, start + most);
    for (let k = start; k < end; k++) {
      let best = k;
      if (pivot)
        for (let i = k + 1; i < m; i++)
          if (Math.abs(lu[i * n + k]!) > Math.abs(lu[best * n + k]!)) best = i;
      pivots[k] = best + 1;
      const divisor = lu[best * n + k]!;
      if (divisor === 0) {
        if (info === 0) info = k + 1;
        continue;
      }
      if (best !== k) {
        sign = -sign;
        swapRows(lu, k, best, n);
      }
      for (let i = k + 1; i < m; i++) {
        const factor = (lu[i * n + k]! /= divisor);
        for (let j = k + 1; j < end; j++) lu[i * n + j]! -= factor * lu[k * n + j]!;
      }
    }
    if (!pivot && lu[start * n + start] === 0) continue;
    const [right, top] = [n - end, start * n + end];
    for (let i = start + 1; i < m; i++)
      addRows(
        lu,
        i * n + end,
        right,
        lu,
        top,
        n,
        lu,
        i * n + start,
        1,
        Math.min(i, end) - start,
        -1,
      );
  }
  return { lu, pivots, sign, info };
}

function swapRows(a: Float64Array, i: number, j: number, width: number): void {
  for (let c = 0; c < width; c++)
    [a[i * width + c], a[j * width + c]] = [a[j * width + c]!, a[i * width + c]!];
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
    if (i !== j) swapRows(b, i, j, columns);
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
 * Replaces the upper triangle of a symmetric positive-definite matrix by U with Uᵀ U = values, and the rest by zeros.
 * Returns the order of the first leading minor that is not positive, else 0. @see LAPACK potrf
 */
export function choleskyFactor(values: Float64Array, n: number): number {
  for (let i = 1; i < n; i++) values.fill(0, i * n, i * n + i);
  for (let i = 0; i < n; i++) {
    const at = i * n + i;
    // The diagonal first: where it is not positive, the rest of the row stays what it was.
    addRows(values, at, 1, values, i, n, values, i, n, i, -1);
    if (!(values[at]! > 0)) return i + 1;
    addRows(values, at + 1, n - i - 1, values, i + 1, n, values, i, n, i, -1);
    const root = (values[at] = Math.sqrt(values[at]!));
    for (let j = 1; j < n - i; j++) values[at + j]! /= root;
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
    const from = upper ? i + 1 : 0;
    addRows(b, i * columns, columns, b, from * columns, columns, a, i * n + from, 1, step, -1);
    if (!unit) for (let c = 0; c < columns; c++) b[i * columns + c]! /= a[i * n + i]!;
  }
}

/** The transpose of a rows × columns matrix. */
export function transposed(values: Float64Array, rows: number, columns: number): Float64Array {
  const out = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) out[j * rows + i] = values[i * columns + j]!;
  return out;
}

/** √(x² + y²). `Math.hypot` allocates. */
export function hypot(x: number, y: number): number {
  const most = Math.max(Math.abs(x), Math.abs(y));
  if (most === 0) return 0;
  const share = Math.min(Math.abs(x), Math.abs(y)) / most;
  return most * Math.sqrt(1 + share * share);
}

/** The largest absolute value; NaN if there is one. */
export function largestOf(values: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}

/** Σ a · b of `count` elements. */
export function dot(
  a: Float64Array,
  at: number,
  b: Float64Array,
  from: number,
  count: number,
): number {
  // Several sums do not wait for each other.
  let [p, q, r, s, i] = [0, 0, 0, 0, 0];
  for (; i + 3 < count; i += 4) {
    p += a[at + i]! * b[from + i]!;
    q += a[at + i + 1]! * b[from + i + 1]!;
    r += a[at + i + 2]! * b[from + i + 2]!;
    s += a[at + i + 3]! * b[from + i + 3]!;
  }
  for (; i < count; i++) p += a[at + i]! * b[from + i]!;
  return p + q + (r + s);
}

/**
 * Rotates neighbouring columns one after the other in rows × width elements: column x becomes c x + s y, and its
 * neighbour y, in the direction of `step`, c y - s x, which is the x of the next rotation.
 */
export function rotateColumns(
  a: Float64Array,
  rows: number,
  width: number,
  first: number,
  step: 1 | -1,
  cosines: Float64Array,
  sines: Float64Array,
  count: number,
): void {
  let row = 0;
  // Rows do not wait for each other.
  for (; row + 3 < rows; row += 4) {
    let [p, q] = [row * width + first, (row + 1) * width + first];
    let [r, t] = [(row + 2) * width + first, (row + 3) * width + first];
    let [x, y, z, w] = [a[p]!, a[q]!, a[r]!, a[t]!];
    for (let k = 0; k < count; k++) {
      const [c, s] = [cosines[k]!, sines[k]!];
      const [i, j, l, m] = [a[p + step]!, a[q + step]!, a[r + step]!, a[t + step]!];
      a[p] = c * x + s * i;
      a[q] = c * y + s * j;
      a[r] = c * z + s * l;
      a[t] = c * w + s * m;
      x = c * i - s * x;
      y = c * j - s * y;
      z = c * l - s * z;
      w = c * m - s * w;
      p += step;
      q += step;
      r += step;
      t += step;
    }
    a[p] = x;
    a[q] = y;
    a[r] = z;
    a[t] = w;
  }
  for (; row < rows; row++) {
    let p = row * width + first;
    let x = a[p]!;
    for (let k = 0; k < count; k++, p += step) {
      const [c, s, y] = [cosines[k]!, sines[k]!, a[p + step]!];
      a[p] = c * x + s * y;
      x = c * y - s * x;
    }
    a[p] = x;
  }
}
