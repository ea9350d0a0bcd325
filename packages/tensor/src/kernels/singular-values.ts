/**
 * @file Singular value decomposition of row-major matrices, in double precision.
 *
 * Reflections from both sides make the matrix bidiagonal, QR steps with implicit shifts make that diagonal. @see Golub & Reinsch; LINPACK dsvdc
 */
import { TesseraError } from '@tessera/shared';
import { dot, hypot, largestOf, rotateColumns, transposed } from './dense-matrix.js';
import { addProduct } from './add-rows.js';
import {
  householderFactors,
  householderQr,
  makeReflection,
  reflectColumns,
  reflectionProduct,
} from './reflections.js';

/** What is computed beside the values: nothing, as many vectors as there are values, or square matrices of them. */
export type SingularVectors = 'none' | 'reduced' | 'full';

/** u[k] · s[k] · v[k]ᵀ summed is the matrix; s descends. */
export interface Decomposition {
  readonly u: readonly Float64Array[];
  readonly s: readonly number[];
  readonly v: readonly Float64Array[];
}

/** Below it an element of a matrix whose largest one is about 1 is nothing. */
const TINY = 2 ** -966;

/** QR steps for one value before giving up on more digits; two or three are usual. */
const MOST_STEPS = 75;

/** A matrix with as many times more rows than columns is made square first. */
const TALL = 1.6;

/** Vectors, one in each column, and the rotations of the current step that they have not had. */
interface Columns {
  readonly values: Float64Array;
  readonly rows: number;
  readonly width: number;
  readonly cosines: Float64Array;
  readonly sines: Float64Array;
}

/** √(x² + y²), and what turns (x, y) to (that, 0). */
const turn = { r: 0, c: 1, s: 0 };
function turnOf(x: number, y: number): typeof turn {
  turn.r = hypot(x, y);
  turn.c = turn.r === 0 ? 1 : x / turn.r;
  turn.s = turn.r === 0 ? 0 : y / turn.r;
  return turn;
}

/** Moves the element beside a zero on the diagonal out of the matrix, by rotations with the rows up or down to `end`. */
function chase(
  d: Float64Array,
  e: Float64Array,
  zero: number,
  step: 1 | -1,
  end: number,
  vectors: Columns,
): void {
  const first = Math.min(zero, zero + step);
  let f = e[first]!;
  e[first] = 0;
  for (let j = zero + step; j !== end + step; j += step) {
    const { r, c, s } = turnOf(d[j]!, f);
    d[j] = r;
    const next = Math.min(j, j + step);
    if (j !== end) {
      f = -s * e[next]!;
      e[next]! *= c;
    }
    const { values, width } = vectors;
    for (let at = 0; at < values.length; at += width) {
      const [x, y] = [values[at + j]!, values[at + zero]!];
      values[at + j] = c * x + s * y;
      values[at + zero] = c * y - s * x;
    }
  }
}

/** One step on the rows from `k` to `last`, whose diagonal and superdiagonal have no zeros. */
function stepQr(
  d: Float64Array,
  e: Float64Array,
  k: number,
  last: number,
  u: Columns,
  v: Columns,
): void {
  const scale = Math.max(...[d[last]!, d[last - 1]!, e[last - 1]!, d[k]!, e[k]!].map(Math.abs));
  const [end, before, link] = [d[last]! / scale, d[last - 1]! / scale, e[last - 1]! / scale];
  const [top, next] = [d[k]! / scale, e[k]! / scale];
  const b = ((before + end) * (before - end) + link * link) / 2;
  const c = (end * link) ** 2;
  const root = Math.sqrt(b * b + c);
  const shift = b === 0 && c === 0 ? 0 : c / (b + (b < 0 ? -root : root));
  let f = (top + end) * (top - end) + shift;
  let g = top * next;
  for (let j = k; j < last; j++) {
    let { r, c, s } = turnOf(f, g);
    if (j !== k) e[j - 1] = r;
    f = c * d[j]! + s * e[j]!;
    e[j] = c * e[j]! - s * d[j]!;
    g = s * d[j + 1]!;
    d[j + 1]! *= c;
    [v.cosines[j - k], v.sines[j - k]] = [c, s];
    ({ r, c, s } = turnOf(f, g));
    d[j] = r;
    f = c * e[j]! + s * d[j + 1]!;
    d[j + 1] = c * d[j + 1]! - s * e[j]!;
    g = s * e[j + 1]!;
    e[j + 1]! *= c;
    [u.cosines[j - k], u.sines[j - k]] = [c, s];
  }
  e[last - 1] = f;
  for (const { values, rows, width, cosines, sines } of [u, v])
    if (values.length > 0) rotateColumns(values, rows, width, k, 1, cosines, sines, last - k);
}

/** Makes the bidiagonal matrix diagonal: its elements are left in `d`. */
function diagonalize(d: Float64Array, e: Float64Array, u: Columns, v: Columns): void {
  let steps = 0;
  for (let last = d.length - 1; last > 0;) {
    const nothing = (value: number, beside: number): boolean =>
      Math.abs(value) <= TINY + Number.EPSILON * beside;
    let k = last - 1;
    while (k >= 0 && !nothing(e[k]!, Math.abs(d[k]!) + Math.abs(d[k + 1]!))) k--;
    if (k >= 0) e[k] = 0;
    if (k === last - 1 || steps === MOST_STEPS) {
      last--;
      steps = 0;
      continue;
    }
    const first = k + 1;
    let zero = last;
    const around = (i: number): number =>
      (i < last ? Math.abs(e[i]!) : 0) + (i > first ? Math.abs(e[i - 1]!) : 0);
    while (zero >= first && !nothing(d[zero]!, around(zero))) zero--;
    if (zero < first) {
      stepQr(d, e, first, last, u, v);
      steps++;
      continue;
    }
    d[zero] = 0;
    if (zero === last) chase(d, e, zero, -1, first, v);
    else chase(d, e, zero, 1, last, u);
  }
}

/**
 * Decomposes a matrix with many more rows than columns: of q · r the square r is decomposed, and q turns its vectors.
 *
 * @see Chan, "An improved algorithm for computing the singular value decomposition"
 */
function tallValues(
  a: Float64Array,
  m: number,
  n: number,
  vectors: SingularVectors,
): Decomposition {
  if (vectors === 'none') {
    const { packed } = householderFactors(a, m, n);
    for (let i = 1; i < n; i++) packed.fill(0, i * n, i * n + i);
    return singularValues(packed.subarray(0, n * n), n, n, vectors);
  }
  const count = vectors === 'full' ? m : n;
  const { q, r } = householderQr(a, m, n, count);
  const { u, s, v } = singularValues(r.subarray(0, n * n), n, n, 'reduced');
  const turns = new Float64Array(n * n);
  u.forEach((column, k) => column.forEach((value, i) => (turns[i * n + k] = value)));
  const turned = new Float64Array(m * n);
  const rows = { values: turns, at: 0, step: n };
  addProduct(
    { values: turned, at: 0, step: n },
    m,
    n,
    rows,
    { values: q, at: 0, step: count, next: 1 },
    n,
    1,
  );
  const column = (values: Float64Array, width: number, k: number): Float64Array =>
    Float64Array.from({ length: m }, (_, i) => values[i * width + k]!);
  const long = Array.from({ length: count }, (_, k) =>
    k < n ? column(turned, n, k) : column(q, count, k),
  );
  return { u: long, s, v };
}

/** Decomposes a row-major matrix. @throws invalid-argument unless all numbers are finite: its steps would not end */
export function singularValues(
  values: Float64Array,
  rows: number,
  columns: number,
  vectors: SingularVectors,
): Decomposition {
  if (!values.every(Number.isFinite))
    throw new TesseraError(
      'invalid-argument',
      'linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.',
      { hints: ['Check the input for NaN and infinity.'] },
    );
  const wide = columns > rows;
  const [m, n] = wide ? [columns, rows] : [rows, columns];
  const largest = largestOf(values);
  const a = wide ? transposed(values, rows, columns) : values.slice();
  // Squares neither overflow nor vanish.
  const scale = largest === 0 ? 1 : 2 ** Math.floor(Math.log2(largest));
  for (let i = 0; i < a.length; i++) a[i]! /= scale;
  if (m > TALL * n && n > 1) {
    const { u, s, v } = tallValues(a, m, n, vectors);
    const values = s.map((value) => value * scale);
    return wide ? { u: v, s: values, v: u } : { u, s: values, v };
  }
  const [d, e, left, right] = [n, n, n, n].map((size) => new Float64Array(size));
  for (let k = 0; k < n; k++) {
    const at = k * n + k;
    const rest = n - k - 1;
    left[k] = makeReflection(a, at, n, m - k);
    reflectColumns(a, at + 1, m - k, rest, n, a, at, n, left[k]!);
    d[k] = a[at]!;
    if (rest === 0) break;
    const tau = (right[k] = makeReflection(a, at + 1, 1, rest));
    e[k] = a[at + 1]!;
    for (let i = k + 1; tau !== 0 && i < m; i++) {
      const row = i * n + k + 1;
      const along = tau * (a[row]! + dot(a, row + 1, a, at + 2, rest - 1));
      a[row]! -= along;
      for (let j = 1; j < rest; j++) a[row + j]! -= along * a[at + 1 + j]!;
    }
  }
  const count = vectors === 'full' ? m : n;
  const of = (tau: Float64Array, rows: number, width: number, skip: 0 | 1): Columns => ({
    rows,
    width,
    values:
      vectors === 'none'
        ? new Float64Array(0)
        : reflectionProduct(a, tau, rows, width, n, skip === 1 ? 1 : n, skip),
    cosines: new Float64Array(n),
    sines: new Float64Array(n),
  });
  const u = of(left, m, count, 0);
  const v = of(right, n, n, 1);
  diagonalize(d, e, u, v);
  const order = Array.from(d.keys()).sort((i, j) => Math.abs(d[j]!) - Math.abs(d[i]!));
  const s = order.map((k) => Math.abs(d[k]!) * scale);
  if (vectors === 'none') return { u: [], s, v: [] };
  const column = (
    { values: all, rows: length, width }: Columns,
    k: number,
    sign: number,
  ): Float64Array => {
    const out = new Float64Array(length);
    for (let i = 0; i < length; i++) out[i] = sign * all[i * width + k]!;
    return out;
  };
  const long = Array.from({ length: count }, (_, k) => {
    const at = order[k] ?? k;
    return column(u, at, d[at]! < 0 ? -1 : 1);
  });
  const short = order.map((k) => column(v, k, 1));
  return wide ? { u: short, s, v: long } : { u: long, s, v: short };
}
