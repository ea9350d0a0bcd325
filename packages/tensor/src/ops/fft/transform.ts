/**
 * @file Fourier transforms in one, two and any number of dimensions, with the arguments of `torch.fft`.
 *
 * The operators have ATen's names and arguments in a namespace of ours, since ATen's are of complex dtypes.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';

import type { Tensor } from '../../tensor.js';
import { stack } from '../arrange/join.js';
import { zerosLike } from '../factory/like.js';
import { neg } from '../pointwise/arithmetic.js';
import { select } from '../view/slice.js';
import {
  type FftNorm,
  checkLength,
  dimsAndSizes,
  pairInput,
  realInput,
  resized,
  scaleOf,
} from './arguments.js';
import { c2c, c2r, r2c } from './primitive.js';

/** How a transform reads and writes numbers. */
interface Form {
  readonly name: string;
  /** Whether complex numbers come in, and whether they come out. */
  readonly takes: 'real' | 'complex';
  readonly gives: 'real' | 'complex';
  readonly forward: boolean;
}

/** The complex conjugate of pairs. */
function conjugate(z: Tensor): Tensor {
  return stack([select(z, -1, 0), neg(select(z, -1, 1))], -1);
}

function transform(
  { name, takes, gives, forward }: Form,
  self: Tensor,
  s: readonly number[] | null,
  dim: readonly number[] | null,
  norm: unknown,
): Tensor {
  const x = takes === 'real' ? realInput(name, self) : pairInput(name, self);
  const ndim = x.ndim - (takes === 'real' ? 0 : 1);
  const { dims, lengths } = dimsAndSizes(name, ndim, s, dim);
  const scale = scaleOf(norm, forward);
  if (gives === 'real') {
    const given = lengths.at(-1) ?? null;
    const half = x.sizes[dims.at(-1)!]!;
    const n = checkLength(given === null || given === -1 ? 2 * (half - 1) : given);
    const cut = resized(x, dims, [...lengths.slice(0, -1), (n >> 1) + 1]);
    return c2r(forward ? conjugate(cut) : cut, dims, scale, n);
  }
  const cut = resized(x, dims, lengths);
  if (takes === 'complex') return c2c(cut, dims, scale, forward);
  const half = r2c(cut, dims, scale);
  return forward ? half : conjugate(half);
}

/** One dimension: `n` and `dim`. */
function defineOne(form: Form): OpOverload<Tensor> {
  return defineOp(
    `tessera::fft_${form.name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor`,
    {
      decompose: ({ self, n, dim, norm }) =>
        transform(form, self, n === null ? null : [n], [dim], norm),
    },
  );
}

/** Two dimensions, the last by default, or all of them: `s` and `dim`. */
function defineMany(form: Form, defaultDim: ' dim=[-2,-1]' | '? dim=None'): OpOverload<Tensor> {
  return defineOp(
    `tessera::fft_${form.name}(Tensor self, SymInt[1]? s=None, int[1]${defaultDim}, str? norm=None) -> Tensor`,
    {
      decompose: ({ self, s, dim, norm }) => transform(form, self, s, dim, norm),
    },
  );
}

interface Family {
  readonly one: OpOverload<Tensor>;
  readonly two: OpOverload<Tensor>;
  readonly any: OpOverload<Tensor>;
}

function family(form: Form): Family {
  const { name } = form;
  return {
    one: defineOne(form),
    two: defineMany({ ...form, name: `${name}2` }, ' dim=[-2,-1]'),
    any: defineMany({ ...form, name: `${name}n` }, '? dim=None'),
  };
}

const forwards = family({ name: 'fft', takes: 'complex', gives: 'complex', forward: true });
const inverses = family({ name: 'ifft', takes: 'complex', gives: 'complex', forward: false });
const realForwards = family({ name: 'rfft', takes: 'real', gives: 'complex', forward: true });
const realInverses = family({ name: 'irfft', takes: 'complex', gives: 'real', forward: false });
const realSignals = family({ name: 'hfft', takes: 'complex', gives: 'real', forward: true });
const realSpectra = family({ name: 'ihfft', takes: 'real', gives: 'complex', forward: false });

/** Options of transforms in one dimension. */
export interface FftOptions {
  /** Length of the signal, cut or filled up with zeros to it; of the result where that is real. */
  readonly n?: number | null;
  /** Dimension, counted without that of the pairs (default: the last). */
  readonly dim?: number;
  readonly norm?: FftNorm;
}
const FFT: OptionNames<FftOptions> = { n: true, dim: true, norm: true };

/** Options of transforms in several dimensions. */
export interface FftnOptions {
  /** Length for each dimension; -1 keeps one. */
  readonly s?: readonly number[] | null;
  /** Dimensions, counted without that of the pairs. */
  readonly dim?: readonly number[] | null;
  readonly norm?: FftNorm;
}
const FFTN: OptionNames<FftnOptions> = { s: true, dim: true, norm: true };

type TensorOp = OpOverload<Tensor>;

function one(op: TensorOp, self: Tensor, { n = null, dim = -1, norm }: FftOptions): Tensor {
  return callOp(op, [self, n, dim, norm ?? null]);
}

function two(op: TensorOp, self: Tensor, { s = null, dim, norm }: FftnOptions): Tensor {
  return callOp(op, [self, s, dim ?? [-2, -1], norm ?? null]);
}

function any(op: TensorOp, self: Tensor, { s = null, dim = null, norm }: FftnOptions): Tensor {
  return callOp(op, [self, s, dim, norm ?? null]);
}

/** What parts of complex numbers may be. */
const COMPLEX_OF: readonly DType[] = ['float16', 'float32', 'float64'];

/** Pairs of real and imaginary parts: [..] → [.., 2]; real numbers if the latter are left out. @throws shape-mismatch, dtype-mismatch */
export function complex(real: Tensor, imaginary: Tensor | null = null): Tensor {
  if (imaginary !== null) {
    const [a, b] = [real.dtype, imaginary.dtype];
    const isComplex = COMPLEX_OF.includes(a) && COMPLEX_OF.includes(b);
    if (a !== b || !isComplex)
      throw new TesseraError(
        'dtype-mismatch',
        isComplex
          ? `Expected object of scalar type ${a} but got scalar type ${b} for second argument`
          : `Expected both inputs to be Half, Float or Double tensors but got ${a} and ${b}`,
        { hints: ["Convert first: x.to('float32')."] },
      );
  }
  return stack([real, imaginary ?? zerosLike(real)], -1);
}

/** The transform of complex numbers, [.., N, 2] → [.., N, 2]. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function fft(self: Tensor, options: FftOptions = {}): Tensor {
  checkOptionNames('fft', options, FFT);
  return one(forwards.one, self, options);
}

/** The inverse of `fft`, [.., N, 2] → [.., N, 2]. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function ifft(self: Tensor, options: FftOptions = {}): Tensor {
  checkOptionNames('ifft', options, FFT);
  return one(inverses.one, self, options);
}

/** The first half of the transform of real numbers, [.., N] → [.., ⌊N/2⌋ + 1, 2]; the other half is its conjugate. @throws dtype-unsupported, invalid-argument, invalid-dim */
export function rfft(self: Tensor, options: FftOptions = {}): Tensor {
  checkOptionNames('rfft', options, FFT);
  return one(realForwards.one, self, options);
}

/** The inverse of `rfft`, [.., M, 2] → [.., n]; n is 2(M - 1) by default: give it for odd lengths. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function irfft(self: Tensor, options: FftOptions = {}): Tensor {
  checkOptionNames('irfft', options, FFT);
  return one(realInverses.one, self, options);
}

/** The real transform of a signal of which the first half is given and the other is its conjugate: [.., M, 2] → [.., n]. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function hfft(self: Tensor, options: FftOptions = {}): Tensor {
  checkOptionNames('hfft', options, FFT);
  return one(realSignals.one, self, options);
}

/** The inverse of `hfft`, [.., N] → [.., ⌊N/2⌋ + 1, 2]. @throws dtype-unsupported, invalid-argument, invalid-dim */
export function ihfft(self: Tensor, options: FftOptions = {}): Tensor {
  checkOptionNames('ihfft', options, FFT);
  return one(realSpectra.one, self, options);
}

/** `fft` in two dimensions, the last ones by default. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function fft2(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('fft2', options, FFTN);
  return two(forwards.two, self, options);
}

/** `ifft` in two dimensions, the last ones by default. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function ifft2(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('ifft2', options, FFTN);
  return two(inverses.two, self, options);
}

/** `rfft` in the last of two dimensions, `fft` in the other. @throws dtype-unsupported, invalid-argument, invalid-dim */
export function rfft2(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('rfft2', options, FFTN);
  return two(realForwards.two, self, options);
}

/** The inverse of `rfft2`. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function irfft2(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('irfft2', options, FFTN);
  return two(realInverses.two, self, options);
}

/** `fft` in several dimensions, all by default. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function fftn(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('fftn', options, FFTN);
  return any(forwards.any, self, options);
}

/** `ifft` in several dimensions, all by default. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function ifftn(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('ifftn', options, FFTN);
  return any(inverses.any, self, options);
}

/** `rfft` in the last of several dimensions, `fft` in the others. @throws dtype-unsupported, invalid-argument, invalid-dim */
export function rfftn(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('rfftn', options, FFTN);
  return any(realForwards.any, self, options);
}

/** The inverse of `rfftn`. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function irfftn(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('irfftn', options, FFTN);
  return any(realInverses.any, self, options);
}

/** `hfft` in the last of two dimensions, `fft` in the other: [.., N, M, 2] → [.., N, n]. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function hfft2(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('hfft2', options, FFTN);
  return two(realSignals.two, self, options);
}

/** The inverse of `hfft2`. @throws dtype-unsupported, invalid-argument, invalid-dim */
export function ihfft2(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('ihfft2', options, FFTN);
  return two(realSpectra.two, self, options);
}

/** `hfft` in the last of several dimensions, all by default, `fft` in the others. @throws shape-mismatch, dtype-unsupported, invalid-argument, invalid-dim */
export function hfftn(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('hfftn', options, FFTN);
  return any(realSignals.any, self, options);
}

/** The inverse of `hfftn`. @throws dtype-unsupported, invalid-argument, invalid-dim */
export function ihfftn(self: Tensor, options: FftnOptions = {}): Tensor {
  checkOptionNames('ihfftn', options, FFTN);
  return any(realSpectra.any, self, options);
}
