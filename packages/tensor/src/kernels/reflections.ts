/**
 * @file Householder reflections, and what is made of several at once: the QR decomposition, and products of them.
 *
 * The product of reflections 1 - τ v vᵀ is 1 - V T Vᵀ with a triangular T. Many columns are reflected by a block of them in three products of
 * matrices, few one after the other. @see Schreiber & Van Loan, "A storage-efficient WY representation for products of Householder
 * transformations"; LAPACK larft, larfb
 */
import { addProduct, addRows, type Rows } from './add-rows.js';
import { hypot } from './dense-matrix.js';

/** Reflections of a block. */
const BLOCK = 16;
/** So few columns are reflected by one after the other. */
const FEW = 40;

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

/** Vectors of a block, rows × count with ones on the diagonal and zeros above, and T. */
interface Block {
  readonly vectors: Float64Array;
  readonly triangle: Float64Array;
  readonly rows: number;
  readonly count: number;
}

/** A block of `count` vectors, of which the first is at `v`; each begins `along` after the one before and is one shorter. */
function blockOf(
  from: Float64Array,
  v: number,
  step: number,
  along: number,
  tau: ArrayLike<number>,
  first: number,
  rows: number,
  count: number,
): Block {
  const vectors = new Float64Array(rows * count);
  for (let r = 0; r < count; r++) {
    vectors[r * count + r] = 1;
    for (let i = r + 1; i < rows; i++)
      vectors[i * count + r] = from[v + r * along + (i - r) * step]!;
  }
  const products = new Float64Array(count * count);
  const all = { values: vectors, at: 0, step: count };
  const turned = { values: vectors, at: 0, step: 1, next: count };
  addProduct({ values: products, at: 0, step: count }, count, count, all, turned, rows, 1);
  const triangle = new Float64Array(count * count);
  for (let r = 0; r < count; r++) {
    const factor = tau[first + r]!;
    triangle[r * count + r] = factor;
    for (let q = 0; q < r; q++) {
      let sum = 0;
      for (let p = q; p < r; p++) sum += triangle[q * count + p]! * products[p * count + r]!;
      triangle[q * count + r] = -factor * sum;
    }
  }
  return { vectors, triangle, rows, count };
}

/** Multiplies columns by the product of a block's reflections, or by its transpose. */
function reflectByBlock(
  { vectors, triangle, rows, count }: Block,
  columns: Rows,
  width: number,
  isTransposed: boolean,
): void {
  const along = { values: new Float64Array(count * width), at: 0, step: width };
  const turned = { values: vectors, at: 0, step: 1, next: count };
  addProduct(along, count, width, columns, turned, rows, 1);
  const scaled = { values: new Float64Array(count * width), at: 0, step: width };
  const [step, next] = isTransposed ? [1, count] : [count, 1];
  addProduct(scaled, count, width, along, { values: triangle, at: 0, step, next }, count, 1);
  const each = { values: vectors, at: 0, step: count, next: 1 };
  addProduct(columns, rows, width, scaled, each, count, -1);
}

/** The QR decomposition as reflections. @see LAPACK geqrf */
export function householderFactors(values: Float64Array, m: number, n: number): HouseholderFactors {
  const packed = values.slice();
  const tau = new Float64Array(Math.min(m, n));
  const steps = Math.min(m - 1, n);
  const most = n > FEW ? BLOCK : n;
  for (let start = 0, end = 0; start < steps; start = end) {
    end = Math.min(start + most, steps);
    // Columns of the block, or all.
    const last = most === n ? n : end;
    for (let k = start; k < end; k++) {
      const at = k * n + k;
      tau[k] = makeReflection(packed, at, n, m - k);
      reflectColumns(packed, at + 1, m - k, last - k - 1, n, packed, at, n, tau[k]!);
    }
    if (last === n) continue;
    const at = start * n + start;
    const block = blockOf(packed, at, n, n + 1, tau, start, m - start, end - start);
    reflectByBlock(block, { values: packed, at: start * n + last, step: n }, n - last, true);
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
  const most = columns > FEW ? BLOCK : 1;
  const count = Math.min(tau.length, columns - skip);
  for (let k = count - 1 - ((count - 1) % most); k >= 0; k -= most) {
    const i = k + skip;
    const v = k * width + i;
    const at = i * columns + i;
    if (most === 1) {
      reflectColumns(q, at, m - i, columns - i, columns, vectors, v, step, tau[k]!);
      continue;
    }
    const own = Math.min(most, count - k);
    const block = blockOf(vectors, v, step, width + 1, tau, k, m - i, own);
    reflectByBlock(block, { values: q, at, step: columns }, columns - i, false);
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
