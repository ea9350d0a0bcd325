/**
 * @file Fourier transforms along dimensions of row-major arrays of complex numbers.
 */
import { rowLayout } from './reduce-kernel.js';
import { type ComplexRow, fftPlan } from './fft-plan.js';

/** How results are scaled, by ATen's numbers: not, by 1/√n, by 1/n. */
export type FftScale = 0 | 1 | 2;

/** The factor for transforms over `count` elements. */
export function fftFactor(scale: FftScale, count: number): number {
  return scale === 0 ? 1 : scale === 1 ? 1 / Math.sqrt(count) : 1 / count;
}

/** Transforms `values` of the given sizes in place along one dimension. */
export function transformAlong(
  values: ComplexRow,
  sizes: readonly number[],
  dim: number,
  forward: boolean,
): void {
  const n = sizes[dim]!;
  const plan = fftPlan(n);
  const { within, starts } = rowLayout(sizes, [dim]);
  const row: ComplexRow = { re: new Float64Array(n), im: new Float64Array(n) };
  for (const start of starts) {
    for (let i = 0; i < n; i++) {
      row.re[i] = values.re[start + within[i]!]!;
      row.im[i] = values.im[start + within[i]!]!;
    }
    plan.transform(row, forward);
    for (let i = 0; i < n; i++) {
      values.re[start + within[i]!] = row.re[i]!;
      values.im[start + within[i]!] = row.im[i]!;
    }
  }
}

/** Pairs, one after the other, as parts. */
export function fromPairs(pairs: Float64Array): ComplexRow {
  const n = pairs.length / 2;
  return {
    re: Float64Array.from({ length: n }, (_, i) => pairs[2 * i]!),
    im: Float64Array.from({ length: n }, (_, i) => pairs[2 * i + 1]!),
  };
}

/** Parts as pairs, times a factor. */
export function toPairs({ re, im }: ComplexRow, factor: number): Float64Array {
  return Float64Array.from(
    { length: 2 * re.length },
    (_, i) => factor * (i % 2 === 0 ? re : im)[i >> 1]!,
  );
}
