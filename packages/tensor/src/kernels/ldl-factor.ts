/**
 * @file The LDLᵀ factors of symmetric matrices with the pivoting of Bunch and Kaufman, in LAPACK's packing: L below the
 * diagonal, D of blocks of 1 or 2 on it.
 *
 * @see LAPACK, sytf2 and sytrs (lower triangle)
 */

/** Bounds the growth of elements: (1 + √17) / 8. */
const ALPHA = (1 + Math.sqrt(17)) / 8;

interface Pivot {
  /** What is swapped with the last row of the block. */
  readonly row: number;
  readonly size: 1 | 2;
  readonly isSingular: boolean;
}

/** The largest |at(i)| for from ≤ i < to, and where. */
function largest(
  from: number,
  to: number,
  at: (i: number) => number,
): [index: number, size: number] {
  let [index, size] = [from, 0];
  for (let i = from; i < to; i++) if (Math.abs(at(i)) > size) [index, size] = [i, Math.abs(at(i))];
  return [index, size];
}

function choosePivot(a: Float64Array, n: number, k: number): Pivot {
  const own = Math.abs(a[k * n + k]!);
  const [row, column] = largest(k + 1, n, (i) => a[i * n + k]!);
  if (Math.max(own, column) === 0 || Number.isNaN(own))
    return { row: k, size: 1, isSingular: true };
  if (own >= ALPHA * column) return { row: k, size: 1, isSingular: false };
  const across = largest(k, row, (j) => a[row * n + j]!)[1];
  const down = largest(row + 1, n, (i) => a[i * n + row]!)[1];
  const most = Math.max(across, down);
  if (own >= ALPHA * column * (column / most)) return { row: k, size: 1, isSingular: false };
  const size = Math.abs(a[row * n + row]!) >= ALPHA * most ? 1 : 2;
  return { row, size, isSingular: false };
}

function swap(a: Float64Array, i: number, j: number): void {
  [a[i], a[j]] = [a[j]!, a[i]!];
}

/** Exchanges rows and columns `last` and `row` of the lower triangle from k on. */
function exchange(a: Float64Array, n: number, k: number, last: number, row: number): void {
  for (let i = row + 1; i < n; i++) swap(a, i * n + last, i * n + row);
  for (let i = last + 1; i < row; i++) swap(a, i * n + last, row * n + i);
  swap(a, last * n + last, row * n + row);
  if (last > k) swap(a, last * n + k, row * n + k);
}

function eliminateOne(a: Float64Array, n: number, k: number): void {
  const inverse = 1 / a[k * n + k]!;
  for (let j = k + 1; j < n; j++) {
    const factor = inverse * a[j * n + k]!;
    for (let i = j; i < n; i++) a[i * n + j]! -= factor * a[i * n + k]!;
    a[j * n + k] = factor;
  }
}

function eliminateTwo(a: Float64Array, n: number, k: number): void {
  const off = a[(k + 1) * n + k]!;
  const d11 = a[(k + 1) * n + k + 1]! / off;
  const d22 = a[k * n + k]! / off;
  const scale = 1 / (d11 * d22 - 1) / off;
  for (let j = k + 2; j < n; j++) {
    const [x, y] = [a[j * n + k]!, a[j * n + k + 1]!];
    const first = scale * (d11 * x - y);
    const second = scale * (d22 * y - x);
    for (let i = j; i < n; i++) a[i * n + j]! -= a[i * n + k]! * first + a[i * n + k + 1]! * second;
    a[j * n + k] = first;
    a[j * n + k + 1] = second;
  }
}

/**
 * Factors a matrix [n, n] in place, of which the lower triangle is read.
 *
 * @param pivots [n], filled with the row that each was swapped with, from 1; both negative for a block of 2
 * @returns 0, or where D is singular, from 1
 */
export function ldlFactor(a: Float64Array, n: number, pivots: Int32Array): number {
  for (let i = 0; i < n; i++) a.fill(0, i * n + i + 1, (i + 1) * n);
  let info = 0;
  for (let k = 0; k < n;) {
    const { row, size, isSingular } = choosePivot(a, n, k);
    if (isSingular) info ||= k + 1;
    const last = k + size - 1;
    if (row !== last) exchange(a, n, k, last, row);
    if (size === 1) {
      pivots[k] = row + 1;
      if (!isSingular) eliminateOne(a, n, k);
    } else {
      pivots[k] = pivots[k + 1] = -(row + 1);
      eliminateTwo(a, n, k);
    }
    k += size;
  }
  return info;
}

/** Solves in place for `b` [n, columns] with a matrix that `ldlFactor` packed. */
export function ldlSolve(
  a: Float64Array,
  n: number,
  pivots: ArrayLike<number>,
  b: Float64Array,
  columns: number,
): void {
  const swapRows = (i: number, j: number): void => {
    for (let c = 0; c < columns; c++) swap(b, i * columns + c, j * columns + c);
  };
  /** Row i less a multiple of row j. */
  const subtract = (i: number, factor: number, j: number): void => {
    for (let c = 0; c < columns; c++) b[i * columns + c]! -= factor * b[j * columns + c]!;
  };
  const size = (k: number): 1 | 2 => (pivots[k]! > 0 ? 1 : 2);

  for (let k = 0; k < n; k += size(k)) {
    const count = size(k);
    const last = k + count - 1;
    swapRows(last, Math.abs(pivots[k]!) - 1);
    for (let i = last + 1; i < n; i++)
      for (let j = k; j <= last; j++) subtract(i, a[i * n + j]!, j);
    if (count === 1) {
      const diagonal = a[k * n + k]!;
      for (let c = 0; c < columns; c++) b[k * columns + c]! /= diagonal;
      continue;
    }
    const off = a[last * n + k]!;
    const [d11, d22] = [a[k * n + k]! / off, a[last * n + last]! / off];
    const scale = d11 * d22 - 1;
    for (let c = 0; c < columns; c++) {
      const [x, y] = [b[k * columns + c]! / off, b[last * columns + c]! / off];
      b[k * columns + c] = (d22 * x - y) / scale;
      b[last * columns + c] = (d11 * y - x) / scale;
    }
  }

  for (let last = n - 1; last >= 0;) {
    const k = last - size(last) + 1;
    for (let i = last + 1; i < n; i++)
      for (let j = k; j <= last; j++) subtract(j, a[i * n + j]!, i);
    swapRows(last, Math.abs(pivots[last]!) - 1);
    last = k - 1;
  }
}
