/**
 * @file Fourier transforms along a dimension of row-major arrays: of complex numbers, which are pairs, and of real ones.
 *
 * Rows are loaded into a tile, several at once, transformed there, and stored. Real rows of an even length are taken for
 * complex ones of half of it, whose spectrum holds those of both halves.
 */
import { numelOf } from '../shape.js';
import { fftPlan, unitRoots } from './fft-plan.js';

/** How results are scaled, by ATen's numbers: not, by 1/√n, by 1/n. */
export type FftScale = 0 | 1 | 2;

/** The factor for transforms over `count` elements. */
export function fftFactor(scale: number, count: number): number {
  return scale === 0 ? 1 : scale === 1 ? 1 / Math.sqrt(count) : 1 / count;
}

/** Complex numbers in a tile: it stays in a fast cache. */
const TILE = 4096;

/**
 * Copies between a row of a tile, whose complex numbers are at `at`, `at + step`, …, and memory, where elements of the
 * row are `inner` apart and `before(size)` is its first one if it has `size` elements.
 */
type Copy = (tile: Float64Array, at: number, step: number, first: (size: number) => number) => void;

/** Transforms all rows along a dimension; in a tile they have `n` complex numbers. */
function eachRow(
  sizes: readonly number[],
  dim: number,
  n: number,
  forward: boolean,
  load: Copy,
  store: Copy,
): void {
  const inner = numelOf(sizes.slice(dim + 1));
  const rows = numelOf(sizes.slice(0, dim)) * inner;
  const plan = fftPlan(n);
  const most = Math.max(1, Math.min(rows, Math.floor(TILE / n)));
  const tile = new Float64Array(2 * n * most);
  for (let row = 0; row < rows; row += most) {
    const width = Math.min(most, rows - row);
    const copy = (from: Float64Array, by: Copy): void => {
      for (let i = 0; i < width; i++) {
        const within = (row + i) % inner;
        by(from, 2 * i, 2 * width, (size) => (row + i - within) * size + within);
      }
    };
    copy(tile, load);
    copy(plan(tile, width, forward ? 0 : 1), store);
  }
}

/** Transforms pairs of the given sizes, in place. */
export function complexAlong(
  values: Float64Array,
  sizes: readonly number[],
  dim: number,
  forward: boolean,
  factor: number,
): void {
  const n = sizes[dim]!;
  const inner = 2 * numelOf(sizes.slice(dim + 1));
  eachRow(
    sizes,
    dim,
    n,
    forward,
    (tile, at, step, first) => {
      for (let j = 0, from = 2 * first(n); j < n; j++, at += step, from += inner) {
        tile[at] = values[from]!;
        tile[at + 1] = values[from + 1]!;
      }
    },
    (tile, at, step, first) => {
      for (let j = 0, to = 2 * first(n); j < n; j++, at += step, to += inner) {
        values[to] = tile[at]! * factor;
        values[to + 1] = tile[at + 1]! * factor;
      }
    },
  );
}

/** The first half, and the middle, of the spectra of real numbers of the given sizes. */
export function realAlong(
  values: Float64Array,
  sizes: readonly number[],
  dim: number,
  factor: number,
): Float64Array {
  const n = sizes[dim]!;
  const inner = numelOf(sizes.slice(dim + 1));
  const half = n >> 1;
  const even = n % 2 === 0;
  const length = even ? half : n;
  const roots = unitRoots(n);
  const out = new Float64Array((2 * values.length * (half + 1)) / n);
  eachRow(
    sizes,
    dim,
    length,
    true,
    (tile, at, step, first) => {
      for (let j = 0, from = first(n); j < length; j++, at += step) {
        tile[at] = values[from]!;
        from += inner;
        tile[at + 1] = even ? values[from]! : 0;
        if (even) from += inner;
      }
    },
    (tile, at, step, first) => {
      for (let k = 0, to = 2 * first(half + 1); k <= half; k++, to += 2 * inner) {
        const one = at + (k % length) * step;
        let [r, i] = [tile[one]!, tile[one + 1]!];
        if (even && k % half === 0) {
          r = k === 0 ? r + i : r - i;
          i = 0;
        } else if (even) {
          // Half of what is its own conjugate is the spectrum of even places; the rest, turned, that of odd ones.
          const other = at + ((half - k) % length) * step;
          const [a, b] = [tile[other]!, tile[other + 1]!];
          const [c, s] = [roots[2 * k]!, roots[2 * k + 1]!];
          const [x, y] = [i + b, a - r];
          [r, i] = [(r + a + x * c - y * s) / 2, (i - b + x * s + y * c) / 2];
        }
        out[to] = r * factor;
        out[to + 1] = i * factor;
      }
    },
  );
  return out;
}

/** Real numbers of the given sizes from the first half, and the middle, of their spectra. */
export function halfAlong(
  given: Float64Array,
  sizes: readonly number[],
  dim: number,
  factor: number,
): Float64Array {
  const n = sizes[dim]!;
  const inner = numelOf(sizes.slice(dim + 1));
  const half = n >> 1;
  const even = n % 2 === 0;
  const length = even ? half : n;
  const roots = unitRoots(n);
  const out = new Float64Array(numelOf(sizes));
  eachRow(
    sizes,
    dim,
    length,
    false,
    (tile, at, step, first) => {
      const start = 2 * first(half + 1);
      for (let k = 0; k < length; k++, at += step) {
        const one = start + 2 * inner * (k > half ? n - k : k);
        // Numbers that are their own conjugates are real; what is beyond the middle is the conjugate of another one.
        let [r, i] = [given[one]!, k === 0 ? 0 : k > half ? -given[one + 1]! : given[one + 1]!];
        if (even) {
          const other = start + 2 * inner * (half - k);
          const [a, b] = [given[other]!, k === 0 ? 0 : given[other + 1]!];
          const [c, s] = [roots[2 * k]!, -roots[2 * k + 1]!];
          const [x, y] = [-i - b, r - a];
          [r, i] = [r + a + x * c - y * s, i - b + x * s + y * c];
        }
        tile[at] = r;
        tile[at + 1] = i;
      }
    },
    (tile, at, step, first) => {
      for (let j = 0, to = first(n); j < length; j++, at += step) {
        out[to] = tile[at]! * factor;
        to += inner;
        if (!even) continue;
        out[to] = tile[at + 1]! * factor;
        to += inner;
      }
    },
  );
  return out;
}
