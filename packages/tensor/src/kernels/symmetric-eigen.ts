/**
 * @file Eigenvalues and eigenvectors of a real symmetric matrix, in double precision.
 *
 * Householder reflections make it tridiagonal, QL steps with implicit shifts make that diagonal. @see EISPACK
 * tred2, tql2
 */

/** Eigenvalues ascend; column k of `vectors`, n × n and row-major, belongs to eigenvalue k. */
export interface SymmetricEigen {
  readonly values: Float64Array;
  readonly vectors: Float64Array;
}

/** QL steps for one eigenvalue before giving up; two or three are usual. */
const MOST_STEPS = 60;

/** Share of the largest element under which a column counts as zeros. */
const NEGLIGIBLE = 2 ** -200;

/** Reduces `v` to tridiagonal form: diagonal `d`, subdiagonal `e` from 1, and the rotation in `v`. */
function tridiagonalize(v: Float64Array, n: number, d: Float64Array, e: Float64Array): void {
  for (let j = 0; j < n; j++) d[j] = v[(n - 1) * n + j]!;
  // What is left of a matrix of low rank is rounding errors of rounding errors: below any digit, it is nothing.
  const negligible = v.reduce((a, b) => Math.max(a, Math.abs(b)), 0) * NEGLIGIBLE;
  for (let i = n - 1; i > 0; i--) {
    let scale = 0;
    let h = 0;
    for (let k = 0; k < i; k++) scale += Math.abs(d[k]!);
    if (scale <= negligible) {
      e[i] = d[i - 1]!;
      for (let j = 0; j < i; j++) {
        d[j] = v[(i - 1) * n + j]!;
        v[i * n + j] = 0;
        v[j * n + i] = 0;
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
  accumulate(v, n, d);
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
    v[j * n + i] = f;
    let g = e[j]! + v[j * n + j]! * f;
    for (let k = j + 1; k < i; k++) {
      g += v[k * n + j]! * d[k]!;
      e[k]! += v[k * n + j]! * f;
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
    for (let k = j; k < i; k++) v[k * n + j]! -= f * e[k]! + g * d[k]!;
    d[j] = v[(i - 1) * n + j]!;
    v[i * n + j] = 0;
  }
}

/** Multiplies the reflections that `v` holds into one rotation. */
function accumulate(v: Float64Array, n: number, d: Float64Array): void {
  for (let i = 0; i < n - 1; i++) {
    v[(n - 1) * n + i] = v[i * n + i]!;
    v[i * n + i] = 1;
    const h = d[i + 1]!;
    if (h !== 0) {
      for (let k = 0; k <= i; k++) d[k] = v[k * n + i + 1]! / h;
      for (let j = 0; j <= i; j++) {
        let g = 0;
        for (let k = 0; k <= i; k++) g += v[k * n + i + 1]! * v[k * n + j]!;
        for (let k = 0; k <= i; k++) v[k * n + j]! -= g * d[k]!;
      }
    }
    for (let k = 0; k <= i; k++) v[k * n + i + 1] = 0;
  }
  for (let j = 0; j < n; j++) {
    d[j] = v[(n - 1) * n + j]!;
    v[(n - 1) * n + j] = 0;
  }
  v[(n - 1) * n + n - 1] = 1;
}

/** Makes the tridiagonal matrix diagonal: its eigenvalues are left in `d`. Whether that came to an end. */
function diagonalize(v: Float64Array, n: number, d: Float64Array, e: Float64Array): boolean {
  e.copyWithin(0, 1);
  e[n - 1] = 0;
  let shift = 0;
  let largest = 0;
  for (let l = 0; l < n; l++) {
    largest = Math.max(largest, Math.abs(d[l]!) + Math.abs(e[l]!));
    let m = l;
    while (m < n - 1 && Math.abs(e[m]!) > Number.EPSILON * largest) m++;
    for (let step = 0; m > l; step++) {
      if (step === MOST_STEPS) return false;
      shift += stepQl(v, n, d, e, l, m);
      if (Math.abs(e[l]!) <= Number.EPSILON * largest) break;
    }
    d[l]! += shift;
    e[l] = 0;
  }
  return true;
}

/** One implicit QL step on rows l to m; returns what the diagonal was shifted by. */
function stepQl(
  v: Float64Array,
  n: number,
  d: Float64Array,
  e: Float64Array,
  l: number,
  m: number,
): number {
  const g = d[l]!;
  let p = (d[l + 1]! - g) / (2 * e[l]!);
  let r = p < 0 ? -Math.hypot(p, 1) : Math.hypot(p, 1);
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
    r = Math.hypot(p, e[i]!);
    e[i + 1] = s * r;
    s = e[i]! / r;
    c = p / r;
    p = c * d[i]! - s * g;
    d[i + 1] = h + s * (c * g + s * d[i]!);
    for (let k = 0; k < n; k++) {
      const right = v[k * n + i + 1]!;
      v[k * n + i + 1] = s * v[k * n + i]! + c * right;
      v[k * n + i] = c * v[k * n + i]! - s * right;
    }
  }
  p = (-s * s2 * c3 * following * e[l]!) / next;
  e[l] = s * p;
  d[l] = c * p;
  return h;
}

/** Decomposes a symmetric row-major matrix; null if the steps do not come to an end. */
export function symmetricEigen(matrix: Float64Array, n: number): SymmetricEigen | null {
  const v = matrix.slice();
  const d = new Float64Array(n);
  const e = new Float64Array(n + 1);
  if (n === 0) return { values: d, vectors: v };
  tridiagonalize(v, n, d, e);
  if (!diagonalize(v, n, d, e)) return null;
  const order = Array.from(d.keys()).sort((a, b) => d[a]! - d[b]!);
  const vectors = v.map((_, i) => v[Math.floor(i / n) * n + order[i % n]!]!);
  return { values: d.map((_, k) => d[order[k]!]!), vectors };
}
