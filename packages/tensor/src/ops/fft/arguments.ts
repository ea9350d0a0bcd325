/**
 * @file What the transforms read their arguments with: dimensions, lengths, normalization, pairs.
 */
import { TesseraError } from '@tessera/shared';
import { defaultDType } from '../../default-dtype.js';
import { isFloatingPoint } from '../../dtype.js';
import type { FftScale } from '../../kernels/fft-kernel.js';
import { formatSizes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { cat } from '../arrange/join.js';
import { zeros } from '../factory/factory.js';
import { narrow } from '../view/slice.js';

/** Which direction is divided: the inverse by n ('backward', default), both by √n, or the forward one by n. */
export type FftNorm = 'backward' | 'ortho' | 'forward';

/** @throws invalid-argument */
export function scaleOf(norm: unknown, forward: boolean): FftScale {
  switch (norm ?? 'backward') {
    case 'backward':
      return forward ? 0 : 2;
    case 'ortho':
      return 1;
    case 'forward':
      return forward ? 2 : 0;
    default:
      throw new TesseraError('invalid-argument', `Invalid normalization mode: "${String(norm)}"`, {
        hints: ["norm is 'backward', 'ortho' or 'forward'."],
      });
  }
}

/** Real numbers of 32 or 64 bits; integers become floats. @throws dtype-unsupported */
export function realInput(name: string, x: Tensor): Tensor {
  if (!isFloatingPoint(x.dtype)) return toDtype(x, defaultDType());
  if (x.dtype === 'float32' || x.dtype === 'float64') return x;
  throw new TesseraError('dtype-unsupported', `${name}: Unsupported dtype ${x.dtype}`, {
    hints: ["Convert first: x.to('float32')."],
  });
}

/** Complex numbers as pairs. @throws shape-mismatch, dtype-unsupported */
export function pairInput(name: string, x: Tensor): Tensor {
  if (x.ndim < 2 || x.sizes.at(-1) !== 2)
    throw new TesseraError(
      'shape-mismatch',
      `${name}: complex numbers are pairs in a last dimension of 2, but the input is ${formatSizes(x.sizes)}`,
      {
        hints: [
          'Make pairs of real numbers with fft.complex(x), or transform them with fft.rfft(x).',
        ],
      },
    );
  return realInput(name, x);
}

/** The dims to transform and the length of each (-1 or null: as it is), of a tensor of `ndim` without pairs. @throws invalid-dim, invalid-argument */
export function dimsAndSizes(
  name: string,
  ndim: number,
  sizes: readonly number[] | null,
  dim: readonly number[] | null,
): { dims: number[]; lengths: (number | null)[] } {
  const dims = (
    dim ?? Array.from({ length: sizes?.length ?? ndim }, (_, i) => i - (sizes?.length ?? ndim))
  ).map((d) => wrapDim(d, ndim, name));
  if (new Set(dims).size !== dims.length)
    throw new TesseraError('invalid-dim', 'FFT dims must be unique', {
      hints: ['Name each dimension once.'],
    });
  if (dims.length === 0 || (sizes !== null && sizes.length !== dims.length))
    throw new TesseraError(
      'invalid-argument',
      dims.length === 0
        ? `${name} must transform at least one axis`
        : 'When given, dim and shape arguments must have the same length',
      { hints: ['Give one length for each dimension.'] },
    );
  return { dims, lengths: dims.map((_, i) => (sizes === null ? null : sizes[i]!)) };
}

/** @throws invalid-argument for lengths below 1 */
export function checkLength(n: number): number {
  if (Number.isInteger(n) && n >= 1) return n;
  throw new TesseraError('invalid-argument', `Invalid number of data points (${n}) specified`, {
    hints: ['Transforms have at least one point.'],
  });
}

/** x cut, or filled up with zeros, to lengths in some dims; null and -1 keep one. @throws invalid-argument */
export function resized(
  x: Tensor,
  dims: readonly number[],
  lengths: readonly (number | null)[],
): Tensor {
  let result = x;
  dims.forEach((dim, i) => {
    const own = result.sizes[dim]!;
    const given = lengths[i] ?? null;
    const wanted = checkLength(given === null || given === -1 ? own : given);
    if (wanted < own) result = narrow(result, dim, 0, wanted);
    else if (wanted > own) {
      const sizes = result.sizes.map((size, d) => (d === dim ? wanted - own : size));
      result = cat([result, zeros(sizes, { dtype: x.dtype, device: x.device })], dim);
    }
  });
  return result;
}
