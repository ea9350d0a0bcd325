/**
 * @file Checks and layouts that linear algebra operators share.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '../../tensor.js';
import { contiguousStrides } from '../../shape.js';

/** A (batch of) matrices of float32 or float64. @throws invalid-dim, dtype-unsupported */
export function checkMatrix(name: string, x: Tensor): void {
  if (x.ndim < 2)
    throw new TesseraError(
      'invalid-dim',
      `${name}: The input tensor A must have at least 2 dimensions.`,
      { hints: ['Matrices are the last two dimensions.'] },
    );
  if (x.dtype !== 'float32' && x.dtype !== 'float64')
    throw new TesseraError(
      'dtype-unsupported',
      `${name}: Expected a floating point tensor of 32 or 64 bits as input. Got ${x.dtype}`,
      { hints: ["Convert first: x.to('float32')."] },
    );
}

/** Strides of a contiguous batch of matrices that lie column by column, as LAPACK has them. */
export function columnMajorStrides(sizes: readonly number[]): number[] {
  const strides = contiguousStrides(sizes);
  strides[sizes.length - 2] = 1;
  strides[sizes.length - 1] = Math.max(sizes.at(-2)!, 1);
  return strides;
}
