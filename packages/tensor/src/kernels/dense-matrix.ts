/**
 * @file Factorizations and solutions of single row-major matrices in double precision, with LAPACK's signs
 * and pivots.
 */
import { addProduct, addRows } from './add-rows.js';

/** What `luFactor` says of each matrix. */
export interface LuFactors {
  /** The row that each row was swapped with, from 1. */
  readonly pivots: Int32Array;
  /** Which diagonal element of U is the first that is 0, from 1; else 0. */
  readonly infos: Int32Array;
}

/** Columns that are eliminated together, and rows that are solved for. */
const PANEL = 16;

/**
 * Replaces `count` m × n matrices, one behind the other, by L and U of them with their rows swapped, unless `pivot` is false: L below
 * the diagonal (its own is ones), U from the diagonal on. @see LAPACK getrf
 */
export function luFactor(
  lu: Float64Array,
  count: number,
  m: number,
  n: number = m,
  pivot = true,
): LuFactors {
  const least = Math.min(m, n);
  const pivots = new Int32Array(count * least);
  const infos = new Int32Array(count);
  for (let b = 0; b < count; b++)
    infos[b] = factorAt(lu, b * m * n, m, n, pivot, pivots, b * least);
  return { pivots, infos };
}

/** -1 for an odd number of swaps among `count` pivots, else 1. */
export function swapSign(pivots: ArrayLike<number>, from: number, count: number): number {
  let sign = 1;
  for (let i = 0; i < count; i++) if (pivots[from + i] !== i + 1) sign = -sign;
  return sign;
}

function factorAt(
  lu: Float64Array,
  origin: number,
  m: number,
  n: number,
  pivot: boolean,
  pivots: Int32Array,
  first: number,
): number {
  const least = Math.min(m, n);
  let info = 0;
  // What a column that is zero on the diagonal has below it takes no part: only then, without pivots, it is not zero too.
  const most = pivot ? PANEL : 1;
  for (let start = 0, end = 0; start < least; start = end) {
    end = Math.min(least, start + most);
    for (let k = start; k < end; k++) {
      const top = origin + k * n;
      let best = k;
      let largest = Math.abs(lu[top + k]!);
      for (let i = k + 1; pivot && i < m; i++) {
        const size = Math.abs(lu[origin + i * n + k]!);
        if (size > largest) {
          best = i;
          largest = size;
        }
      }
      pivots[first + k] = best + 1;
      const divisor = lu[origin + best * n + k]!;
      if (divisor === 0) {
        if (info === 0) info = k + 1;
        continue;
      }
      swapRows(lu, top, origin + best * n, n);
      for (let i = k + 1; i < m; i++) {
        const row = origin + i * n;
        const factor = (lu[row + k]! /= divisor);
        for (let j = k + 1; j < end; j++) lu[row + j]! -= factor * lu[top + j]!;
      }
    }
    const right = n - end;
    const diagonal = origin + start * n + start;
    if (right === 0 || (!pivot && lu[diagonal] === 0)) continue;
    const top = diagonal + end - start;
    for (let i = 1; i < end - start; i++)
      addRows(lu, top + i * n, right, lu, top, n, lu, diagonal + i * n, 1, i, -1);
    const below = origin + end * n;
    const rows = { values: lu, at: below + end, step: n };
    const factors = { values: lu, at: below + start, step: n, next: 1 };
    addProduct(rows, m - end, right, { values: lu, at: top, step: n }, factors, end - start, -1);
  }
  return info;
}

/** Swaps `width` elements from `p` on and from `q` on. */
function swapRows(a: Float64Array, p: number, q: number, width: number): void {
  if (p === q) return;
  for (let c = 0; c < width; c++) {
    const x = a[p + c]!;
    a[p + c] = a[q + c]!;
    a[q + c] = x;
  }
}

/** Replaces matrix number `i` of b, each n × columns, by the solution for matrix number `of` that was factored, or for its transpose. @see LAPACK getrs */
export function luSolveMatrix(
  lu: Float64Array,
  of: number,
  pivots: ArrayLike<number>,
  b: Float64Array,
  i: number,
  n: number,
  columns: number,
  adjoint: boolean,
): void {
  const [at, first] = [i * n * columns, of * n];
  const place = { from: first * n, at, turned: adjoint };
  const swap = (k: number): void =>
    swapRows(b, at + k * columns, at + (pivots[first + k]! - 1) * columns, columns);
  if (!adjoint) for (let k = 0; k < n; k++) swap(k);
  solveTriangle(lu, b, n, columns, { upper: false, unit: !adjoint, ...place });
  solveTriangle(lu, b, n, columns, { upper: true, unit: adjoint, ...place });
  if (adjoint) for (let k = n - 1; k >= 0; k--) swap(k);
}

/** Replaces `count` square matrices, one behind the other, by their inverses, and says `infos` of their factors: where it is not 0 there is none. */
export function invertMatrices(values: Float64Array, count: number, n: number): Int32Array {
  const lu = values.slice();
  const { pivots, infos } = luFactor(lu, count, n);
  values.fill(0);
  for (let b = 0; b < count; b++) {
    for (let i = 0; i < n; i++) values[(b * n + i) * n + i] = 1;
    luSolveMatrix(lu, b, pivots, values, b, n, n, false);
  }
  return infos;
}

/** `choleskyFactor`, by so many rows at a time; what follows a minor that is not positive is then not as it was. */
function choleskyByRows(values: Float64Array, n: number, panel: number): number {
  for (let i = 1; i < n; i++) values.fill(0, i * n, i * n + i);
  for (let start = 0; start < n; start += panel) {
    const end = Math.min(n, start + panel);
    const rows = { values, at: start * n + start, step: n };
    const above = { values, at: start, step: n };
    const factors = { values, at: start, step: 1, next: n };
    if (start > 0) addProduct(rows, end - start, n - start, above, factors, start, -1);
    for (let i = start; i < end; i++) {
      const at = i * n + i;
      const [from, count] = [start * n + i, i - start];
      values.fill(0, i * n, at);
      // The diagonal first: where it is not positive, the rest of the row stays what it was.
      addRows(values, at, 1, values, from, n, values, from, n, count, -1);
      if (!(values[at]! > 0)) return i + 1;
      addRows(values, at + 1, n - i - 1, values, from + 1, n, values, from, n, count, -1);
      const root = (values[at] = Math.sqrt(values[at]!));
      for (let j = 1; j < n - i; j++) values[at + j]! /= root;
    }
  }
  return 0;
}

/**
 * Replaces the upper triangle of a symmetric positive-definite matrix by U with Uᵀ U = values, and the rest by zeros.
 * Returns the order of the first leading minor that is not positive, else 0. @see LAPACK potrf
 */
export function choleskyFactor(values: Float64Array, n: number): number {
  if (n <= PANEL) return choleskyByRows(values, n, n);
  const given = values.slice();
  if (choleskyByRows(values, n, PANEL) === 0) return 0;
  values.set(given);
  return choleskyByRows(values, n, n);
}

/** Which triangle of a matrix counts, and whether its diagonal counts as ones. */
export interface Triangle {
  readonly upper: boolean;
  readonly unit: boolean;
  /** Whether the matrix lies column by column. */
  readonly turned?: boolean;
  /** Where the matrix begins. */
  readonly from?: number;
  /** Where the right side begins. */
  readonly at?: number;
}

/** Replaces b, n × columns, by the solution of triangle(a) · x = b. */
export function solveTriangle(
  a: Float64Array,
  b: Float64Array,
  n: number,
  columns: number,
  { upper, unit, turned = false, from = 0, at: origin = 0 }: Triangle,
): void {
  const [down, next] = turned ? [1, n] : [n, 1];
  for (let step = 0; step < n; step++) {
    const i = upper ? n - 1 - step : step;
    const inPanel = step % PANEL;
    if (inPanel === 0 && step > 0) {
      // What is solved is taken out of the rows of the next panel.
      const count = Math.min(PANEL, n - step);
      const [first, solved] = upper ? [i - count + 1, i + 1] : [i, 0];
      const rows = { values: b, at: origin + first * columns, step: columns };
      const x = { values: b, at: origin + solved * columns, step: columns };
      const factors = { values: a, at: from + first * down + solved * next, step: down, next };
      addProduct(rows, count, columns, x, factors, step, -1);
    }
    const known = upper ? i + 1 : step - inPanel;
    const at = origin + i * columns;
    const row = from + i * down;
    const solved = origin + known * columns;
    addRows(b, at, columns, b, solved, columns, a, row + known * next, next, inPanel, -1);
    if (unit) continue;
    const divisor = a[row + i * next]!;
    for (let c = 0; c < columns; c++) b[at + c]! /= divisor;
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
      const c = cosines[k]!;
      const s = sines[k]!;
      const i = a[p + step]!;
      const j = a[q + step]!;
      const l = a[r + step]!;
      const m = a[t + step]!;
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
      const c = cosines[k]!;
      const s = sines[k]!;
      const y = a[p + step]!;
      a[p] = c * x + s * y;
      x = c * y - s * x;
    }
    a[p] = x;
  }
}
