/**
 * @file Checks, layouts and results that linear algebra operators share.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { TesseraError } from '@tessera/shared';
import type { TensorMeta } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { contiguousStrides, numelOf } from '../../shape.js';

/** A (batch of) matrices of float32 or float64. @throws invalid-dim, dtype-unsupported */
export function checkMatrix(name: string, x: Tensor): void {
  if (x.ndim < 2)
    throw new TesseraError(
      'invalid-dim',
      `${name}: The input tensor A must have at least 2 dimensions.`,
      { hints: ['Matrices are the last two dimensions.'] },
    );
  checkPrecision(name, x);
}

/** Elements of 32 or 64 bits. @throws dtype-unsupported */
export function checkPrecision(name: string, x: Tensor): void {
  if (x.dtype === 'float32' || x.dtype === 'float64') return;
  throw new TesseraError(
    'dtype-unsupported',
    `${name}: Expected a floating point tensor of 32 or 64 bits as input. Got ${x.dtype}`,
    { hints: ["Convert first: x.to('float32')."] },
  );
}

/** A (batch of) square matrices of float32 or float64. @throws shape-mismatch, invalid-dim, dtype-unsupported */
export function checkSquare(name: string, x: Tensor): void {
  checkMatrix(name, x);
  const [m, n] = x.sizes.slice(-2);
  if (m !== n)
    throw new TesseraError(
      'shape-mismatch',
      `${name}: A must be batches of square matrices, but they are ${m} by ${n} matrices`,
      { hints: ['The last two dimensions are equal.'] },
    );
}

/** Both operands have one dtype. @throws dtype-mismatch */
export function checkSameDtype(name: string, a: Tensor, b: Tensor): void {
  if (a.dtype === b.dtype) return;
  throw new TesseraError(
    'dtype-mismatch',
    `${name}: Expected A and B to have the same dtype, but found A of type ${a.dtype} and B of type ${b.dtype} instead`,
    { hints: ['Convert one of them: b.to(a.dtype).'] },
  );
}

/** Strides of a contiguous batch of matrices that lie column by column, as LAPACK has them. */
export function columnMajorStrides(sizes: readonly number[]): number[] {
  const strides = contiguousStrides(sizes);
  strides[sizes.length - 2] = 1;
  strides[sizes.length - 1] = Math.max(sizes.at(-2)!, 1);
  return strides;
}

/** Meta of matrices that lie column by column, of the dtype of others. */
export function columnMajorMeta(sizes: readonly number[], { dtype, device }: Tensor): TensorMeta {
  return { sizes, strides: columnMajorStrides(sizes), dtype, device };
}

/** Meta of a row-major result, of the dtype of a matrix unless another is given. */
export function rowMajorMeta(
  sizes: readonly number[],
  like: Tensor,
  dtype: TensorMeta['dtype'] = like.dtype,
): TensorMeta {
  return denseMeta(like, sizes, dtype);
}

/** Number of matrices in a batch. */
export function batchCount(x: Tensor): number {
  return numelOf(x.sizes.slice(0, -2));
}

/**
 * Throws for the first matrix of a batch that a kernel could not do.
 *
 * @param infos 0 for each matrix that went well, as LAPACK has it
 * @param describe the message for another number
 * @throws linalg-error
 */
export function checkInfos(
  name: string,
  infos: ArrayLike<number>,
  isBatch: boolean,
  describe: (info: number) => string,
  hint: string,
): void {
  const at = Array.from(infos).findIndex((info) => info !== 0);
  if (at < 0) return;
  const which = isBatch ? `(Batch element ${at}): ` : '';
  throw new TesseraError('linalg-error', `${name}: ${which}${describe(infos[at]!)}`, {
    context: { batchElement: at, info: infos[at] },
    hints: [hint],
  });
}
