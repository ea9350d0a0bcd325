/**
 * @file Fourier transforms as matrix products, for compilers.
 *
 * A length n = n1 · n2 is taken apart (the four-step form): products by the matrix of n1, twiddle factors, transforms of
 * length n2, and an exchange of the two. With k = k1 + n1 · k2 and j = j1 · n2 + j2,
 *
 *     exp(-2πi jk / n) = exp(-2πi j1 k1 / n1) · exp(-2πi j2 k1 / n) · exp(-2πi j2 k2 / n2)
 *
 * Real rows take half the work: their first products have real operands, and results beyond the middle are left out of
 * the last. Half spectra take the same steps from behind. Lengths with a large prime factor become convolutions of a
 * power of two. @see Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970
 */
import { fftFactor } from '../../kernels/fft-kernel.js';
import type { Tensor } from '../../tensor.js';
import { contiguous } from '../arrange/copy.js';
import { matmul } from '../matmul/composite.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { constantPad } from '../resample/pad.js';
import { movedim, transpose, unsqueeze } from '../view/dims.js';
import { narrow, select } from '../view/slice.js';
import { reshape } from '../view/view.js';
import {
  type Factors,
  type TableKind,
  chirpFilter,
  chirps,
  halfMatrix,
  occurrenceTable,
  pairMatrix,
  partsMatrix,
  realMatrix,
  realPartMatrix,
  twiddles,
} from './tables.js';
import { quietly } from './quietly.js';

/** Lengths up to this are one product. */
const LARGEST_FACTOR = 64;
/** Primes above it are convolutions: the product takes more than that. */
const LARGEST_PRIME = 128;
/** Twiddle factors of a longer transform are products of two small tables, which graphs can hold. */
const LARGEST_TABLE = 1 << 14;

/** The factor of n that is split off first: 1 if n is one product, 0 if it is a convolution. */
function firstFactor(n: number): number {
  if (n <= LARGEST_FACTOR) return 1;
  const steps = Math.ceil(Math.log(n) / Math.log(LARGEST_FACTOR) - 1e-9);
  // Equal factors take the least work.
  const ideal = Math.log(n) / steps;
  let best = 1;
  for (let d = 2; d <= LARGEST_FACTOR; d++)
    if (n % d === 0 && Math.abs(Math.log(d) - ideal) <= Math.abs(Math.log(best) - ideal)) best = d;
  return best > 1 ? best : n <= LARGEST_PRIME ? 1 : 0;
}

const part = (pairs: Tensor, which: 0 | 1): Tensor => select(pairs, -1, which);

/** re · factors.re + im · factors.im, with the parts of the result in dimension `dim`. */
function product(re: Tensor, im: Tensor, by: Factors, dim = -1): Tensor {
  return add(mul(unsqueeze(re, dim), by.re), mul(unsqueeze(im, dim), by.im));
}

/** The largest divisor of n up to √n. */
function nearRoot(n: number): number {
  let d = Math.floor(Math.sqrt(n));
  while (n % d !== 0) d--;
  return d;
}

/** Twiddle factors [n1, n2] of length n = n1 · n2, the parts in a last dimension or before n2. */
function twiddlesOf(kind: TableKind, n: number, n1: number, partsLast: boolean): Factors {
  const n2 = n / n1;
  const step = n > LARGEST_TABLE ? n2 / nearRoot(n2) : n2;
  if (step === n2) return twiddles(kind, n, n1, n2, 1, partsLast);
  // Number a · step + b of a row is the product of number a · step and number b.
  const coarse = twiddles(kind, n, n1, n2 / step, step, true).re;
  const fine = twiddles(kind, n, n1, step, 1, partsLast);
  const [place, sizes] = partsLast ? [1, [n1, n2, 2]] : [2, [n1, 2, n2]];
  const wide = (pairs: Tensor, which: 0 | 1): Tensor => {
    const one = unsqueeze(part(pairs, which), -1);
    return unsqueeze(one, partsLast ? -1 : 1);
  };
  const [c, s] = [wide(coarse, 0), wide(coarse, 1)];
  const [re, im] = [unsqueeze(fine.re, place), unsqueeze(fine.im, place)];
  return {
    re: reshape(add(mul(c, re), mul(s, im)), sizes),
    im: reshape(sub(mul(c, im), mul(s, re)), sizes),
  };
}

/** Rows of pairs [R, n, 2] → the first `keep` pairs of their transforms [R, keep, 2]. */
function pairRows(x: Tensor, kind: TableKind, factor: number, keep: number): Tensor {
  const n = x.sizes[1]!;
  const n1 = firstFactor(n);
  if (n1 === 0) return convolution(x, kind, factor, keep);
  if (n1 === 1)
    return reshape(matmul(reshape(x, [-1, 2 * n]), pairMatrix(kind, n, n, keep, factor)), [
      -1,
      keep,
      2,
    ]);
  const n2 = n / n1;
  const parts = matmul(partsMatrix(kind, n1), reshape(x, [-1, n1, 2 * n2]));
  const split = reshape(parts, [-1, n1, 2, n2, 2]);
  const [c, s] = [select(split, 2, 0), select(split, 2, 1)];
  const re = sub(part(c, 0), part(s, 1));
  const im = add(part(c, 1), part(s, 0));
  return exchanged(product(re, im, twiddlesOf(kind, n, n1, true)), kind, factor, keep);
}

/** Rows [R, n1, n2, 2] whose transforms, of length n2, are taken in turn → [R, keep, 2]. */
function exchanged(turned: Tensor, kind: TableKind, factor: number, keep: number): Tensor {
  const [, n1, n2] = turned.sizes;
  const each = Math.ceil(keep / n1);
  const rows = pairRows(reshape(turned, [-1, n2, 2]), kind, factor, each);
  const whole = reshape(transpose(reshape(rows, [-1, n1, each, 2]), 1, 2), [-1, each * n1, 2]);
  return each * n1 === keep ? whole : narrow(whole, 1, 0, keep);
}

/** Real rows [R, n] → the first `keep` pairs of their transforms. */
function realRows(x: Tensor, kind: TableKind, factor: number, keep: number): Tensor {
  const n = x.sizes[1]!;
  const n1 = firstFactor(n);
  if (n1 === 0) return convolution(x, kind, factor, keep);
  if (n1 === 1) return reshape(matmul(x, realMatrix(kind, n, keep, factor)), [-1, keep, 2]);
  const n2 = n / n1;
  const parts = matmul(partsMatrix(kind, n1), reshape(x, [-1, n1, n2]));
  const split = reshape(parts, [-1, n1, 2, n2]);
  const [re, im] = [select(split, 2, 0), select(split, 2, 1)];
  return exchanged(product(re, im, twiddlesOf(kind, n, n1, true)), kind, factor, keep);
}

/** Half spectra [R, given, 2] → real rows [R, n]. */
function halfRows(x: Tensor, kind: TableKind, factor: number, n: number): Tensor {
  const given = x.sizes[1]!;
  const n1 = firstFactor(n);
  if (n1 === 1) return matmul(reshape(x, [-1, 2 * given]), halfMatrix(kind, n, given, factor));
  const weighted = mul(x, occurrenceTable(kind, n, given, factor));
  const filled = (size: number): Tensor => constantPad(weighted, [0, 0, 0, size - given]);
  if (n1 === 0) return part(convolution(filled(n), kind, 1, n), 0);
  const n2 = n / n1;
  const direct = firstFactor(n2) === 1;
  const each = direct ? Math.ceil(given / n1) : n2;
  const turned = transpose(reshape(filled(each * n1), [-1, each, n1, 2]), 1, 2);
  const rows = direct
    ? matmul(reshape(turned, [-1, 2 * each]), pairMatrix(kind, n2, each, n2, 1))
    : pairRows(reshape(turned, [-1, n2, 2]), kind, 1, n2);
  const split = reshape(rows, [-1, n1, n2, 2]);
  const parts = product(part(split, 0), part(split, 1), twiddlesOf(kind, n, n1, false), 2);
  return reshape(matmul(realPartMatrix(kind, n1), reshape(parts, [-1, 2 * n1, n2])), [-1, n]);
}

/** Bluestein's form, of pairs [R, n, 2] or real rows [R, n]. */
function convolution(x: Tensor, kind: TableKind, factor: number, keep: number): Tensor {
  const n = x.sizes[1]!;
  const length = 2 ** Math.ceil(Math.log2(2 * n - 1));
  const before = chirps(kind, n, n, 1);
  const chirped =
    x.ndim === 2 ? mul(unsqueeze(x, -1), before.re) : product(part(x, 0), part(x, 1), before);
  const padded = constantPad(chirped, [0, 0, 0, length - n]);
  const ahead = { ...kind, sign: 1 } as const;
  const spectrum = pairRows(padded, ahead, 1, length);
  const filtered = product(part(spectrum, 0), part(spectrum, 1), chirpFilter(kind, n, length));
  const back = pairRows(filtered, { ...kind, sign: -1 }, 1, keep);
  return product(part(back, 0), part(back, 1), chirps(kind, n, keep, factor));
}

/** Rows along a dimension [R, …] through `of`; `pairs` in a last dimension of the tensor given, and of the one made. */
function along(
  x: Tensor,
  dim: number,
  pairs: readonly [given: boolean, made: boolean],
  of: (rows: Tensor) => Tensor,
): Tensor {
  const [given, made] = pairs;
  const moved = movedim(x, dim, given ? -2 : -1);
  const batch = moved.sizes.slice(0, given ? -2 : -1);
  const n = x.sizes[dim]!;
  const rows = of(reshape(moved, given ? [-1, n, 2] : [-1, n]));
  const whole = reshape(rows, [...batch, ...rows.sizes.slice(1)]);
  return movedim(whole, made ? -2 : -1, dim);
}

function countOf(sizes: readonly number[], dims: readonly number[]): number {
  return dims.reduce((count, dim) => count * sizes[dim]!, 1);
}

/** `fft_c2c` of other operators. */
export function expandedC2c(
  self: Tensor,
  dims: readonly number[],
  scale: number,
  forward: boolean,
): Tensor {
  const { dtype, device, sizes } = self;
  const kind: TableKind = { dtype, device, sign: forward ? 1 : -1 };
  const factor = fftFactor(scale, countOf(sizes, dims));
  return quietly(() =>
    contiguous(
      dims.reduce(
        (x, dim, i) =>
          along(x, dim, [true, true], (rows) =>
            pairRows(rows, kind, i === 0 ? factor : 1, rows.sizes[1]!),
          ),
        self,
      ),
    ),
  );
}

/** `fft_r2c` of other operators. */
export function expandedR2c(self: Tensor, dims: readonly number[], scale: number): Tensor {
  const { dtype, device, sizes } = self;
  const kind: TableKind = { dtype, device, sign: 1 };
  const factor = fftFactor(scale, countOf(sizes, dims));
  const last = dims.at(-1)!;
  return quietly(() => {
    const half = along(self, last, [false, true], (rows) =>
      realRows(rows, kind, factor, (sizes[last]! >> 1) + 1),
    );
    return dims.length === 1 ? contiguous(half) : expandedC2c(half, dims.slice(0, -1), 0, true);
  });
}

/** `fft_c2r` of other operators. */
export function expandedC2r(
  self: Tensor,
  dims: readonly number[],
  scale: number,
  size: number,
): Tensor {
  const { dtype, device, sizes } = self;
  const kind: TableKind = { dtype, device, sign: -1 };
  const last = dims.at(-1)!;
  const others = dims.slice(0, -1);
  const factor = fftFactor(scale, countOf(sizes, others) * size);
  return quietly(() => {
    const half = others.length === 0 ? self : expandedC2c(self, others, 0, false);
    return contiguous(
      along(half, last, [true, false], (rows) => halfRows(rows, kind, factor, size)),
    );
  });
}
