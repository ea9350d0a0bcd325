/**
 * @file Eigenvalues and eigenvectors of a real symmetric matrix, in double precision.
 *
 * Householder reflections make it tridiagonal, QL steps with implicit shifts make that diagonal. @see EISPACK tred2, tql2
 */
import { hypot, largestOf, rotateColumns } from './dense-matrix.js';
import { reflectionProduct } from './reflections.js';

/** Eigenvalues ascend; column k of `vectors`, n × n and row-major, belongs to eigenvalue k; null if none were asked for. */
export interface SymmetricEigen {
  readonly values: Float64Array;
  readonly vectors: Float64Array | null;
}

/** QL steps for one eigenvalue before giving up; two or three are usual. */
const MOST_STEPS = 60;

/** Share of the largest element under which a column counts as zeros. */
const NEGLIGIBLE = 2 ** -200;

/** Reduces `v` to tridiagonal form: its diagonal is left there, the subdiagonal in `e` from 1; `v` and `d` hold the reflections. */
function tridiagonalize(v: Float64Array, n: number, d: Float64Array, e: Float64Array): void {
  for (let j = 0; j < n; j++) d[j] = v[j * n + n - 1]!;
  // What is left of a matrix of low rank is rounding errors of rounding errors: below any digit, it is nothing.
  const negligible = largestOf(v) * NEGLIGIBLE;
  for (let i = n - 1; i > 0; i--) {
    let scale = 0;
    let h = 0;
    for (let k = 0; k < i; k++) scale += Math.abs(d[k]!);
    if (scale <= negligible) {
      e[i] = d[i - 1]!;
      for (let j = 0; j < i; j++) {
        d[j] = v[j * n + i - 1]!;
        v[j * n + i] = 0;
        v[i * n + j] = 0;
      }
    } else {
      for (let k = 0; k < i; k++) {
        d[k]! /= scale;
        h += d[k]! * d[k]!;
      }
      const f = d[i - 1]!;
      const g = f > 0 ? -Math.sqrt(h) : Math.sqrt(h);
      e[i] = scale * g;
      h -= f * g;
      d[i - 1] = f - g;
      reflect(v, n, d, e, i, h);
    }
    d[i] = h;
  }
  e[0] = 0;
}

/** Applies the reflection by d[0, i) to the leading part of `v` from both sides. */
function reflect(
  v: Float64Array,
  n: number,
  d: Float64Array,
  e: Float64Array,
  i: number,
  h: number,
): void {
  e.fill(0, 0, i);
  for (let j = 0; j < i; j++) {
    const f = d[j]!;
    v[i * n + j] = f;
    let g = e[j]! + v[j * n + j]! * f;
    for (let k = j + 1; k < i; k++) {
      g += v[j * n + k]! * d[k]!;
      e[k]! += v[j * n + k]! * f;
    }
    e[j] = g;
  }
  let f = 0;
  for (let j = 0; j < i; j++) {
    e[j]! /= h;
    f += e[j]! * d[j]!;
  }
  const half = f / (h + h);
  for (let j = 0; j < i; j++) e[j]! -= half * d[j]!;
  for (let j = 0; j < i; j++) {
    const [f, g] = [d[j]!, e[j]!];
    for (let k = j; k < i; k++) v[j * n + k]! -= f * e[k]! + g * d[k]!;
    d[j] = v[j * n + i - 1]!;
    v[j * n + i] = 0;
  }
}

/**
 * The product of the reflections that `v` and `d` hold: 1 - u uᵀ / h, u in row i of `v` up to i, h in d[i]. Read backwards the
 * elements of each begin where those of the one before do, and one later, as `reflectionProduct` takes them.
 */
function productOf(v: Float64Array, n: number, d: Float64Array): Float64Array {
  const vectors = new Float64Array(n * n);
  const tau = new Float64Array(n - 1);
  for (let k = 0; k < n - 1; k++) {
    const i = n - 1 - k;
    if (d[i] === 0) continue;
    const first = v[i * n + i - 1]!;
    tau[k] = (first * first) / d[i]!;
    for (let t = 0; t < i; t++) vectors[k * n + k + 1 + t] = v[i * n + i - 1 - t]! / first;
  }
  const backwards = reflectionProduct(vectors, tau, n, n, n, 1, 1);
  // Serves no more.
  for (let i = 0; i < n * n; i++) vectors[i] = backwards[n * n - 1 - i]!;
  return vectors;
}

/** Makes the tridiagonal matrix diagonal: its eigenvalues are left in `d`. Whether that came to an end. */
function diagonalize(v: Float64Array | null, n: number, d: Float64Array, e: Float64Array): boolean {
  e.copyWithin(0, 1);
  e[n - 1] = 0;
  const rotations = [new Float64Array(n), new Float64Array(n)] as const;
  let shift = 0;
  let largest = 0;
  for (let l = 0; l < n; l++) {
    largest = Math.max(largest, Math.abs(d[l]!) + Math.abs(e[l]!));
    let m = l;
    while (m < n - 1 && Math.abs(e[m]!) > Number.EPSILON * largest) m++;
    for (let step = 0; m > l; step++) {
      if (step === MOST_STEPS) return false;
      shift += stepQl(v, n, d, e, l, m, rotations);
      if (Math.abs(e[l]!) <= Number.EPSILON * largest) break;
    }
    d[l]! += shift;
    e[l] = 0;
  }
  return true;
}

/** One implicit QL step on rows l to m; returns what the diagonal was shifted by. */
function stepQl(
  v: Float64Array | null,
  n: number,
  d: Float64Array,
  e: Float64Array,
  l: number,
  m: number,
  [cosines, sines]: readonly [Float64Array, Float64Array],
): number {
  const g = d[l]!;
  let p = (d[l + 1]! - g) / (2 * e[l]!);
  let r = p < 0 ? -hypot(p, 1) : hypot(p, 1);
  d[l] = e[l]! / (p + r);
  d[l + 1] = e[l]! * (p + r);
  const next = d[l + 1]!;
  const h = g - d[l]!;
  for (let i = l + 2; i < n; i++) d[i]! -= h;
  p = d[m]!;
  let [c, c2, c3] = [1, 1, 1];
  const following = e[l + 1]!;
  let [s, s2] = [0, 0];
  for (let i = m - 1; i >= l; i--) {
    c3 = c2;
    c2 = c;
    s2 = s;
    const [g, h] = [c * e[i]!, c * p];
    r = hypot(p, e[i]!);
    e[i + 1] = s * r;
    s = e[i]! / r;
    c = p / r;
    p = c * d[i]! - s * g;
    d[i + 1] = h + s * (c * g + s * d[i]!);
    cosines[m - 1 - i] = c;
    sines[m - 1 - i] = s;
  }
  if (v !== null) rotateColumns(v, n, n, m, -1, cosines, sines, m - l);
  p = (-s * s2 * c3 * following * e[l]!) / next;
  e[l] = s * p;
  d[l] = c * p;
  return h;
}

/** Decomposes a symmetric row-major matrix; null if the steps do not come to an end. */
export function symmetricEigen(
  matrix: Float64Array,
  n: number,
  withVectors: boolean,
): SymmetricEigen | null {
  const v = matrix.slice();
  const d = new Float64Array(n);
  const e = new Float64Array(n + 1);
  if (n === 0) return { values: d, vectors: v };
  tridiagonalize(v, n, d, e);
  const vectors = withVectors ? productOf(v, n, d) : null;
  for (let j = 0; j < n; j++) d[j] = v[j * n + j]!;
  if (!diagonalize(vectors, n, d, e)) return null;
  const order = Array.from(d.keys()).sort((a, b) => d[a]! - d[b]!);
  const values = Float64Array.from(order, (from) => d[from]!);
  if (vectors === null) return { values, vectors };
  const sorted = new Float64Array(n * n);
  for (let k = 0; k < n; k++)
    for (let at = 0, from = order[k]!; at < n * n; at += n) sorted[at + k] = vectors[at + from]!;
  return { values, vectors: sorted };
}
