/**
 * @file The shape of what is added or copied to slices.
 */
import { TesseraError } from '@tessera/shared';
import { formatSizes, sameNumbers } from '../shape.js';
import type { Tensor } from '../tensor.js';

/** @throws shape-mismatch unless slices of `source` along a dim have the shape of those of `self` @see index_func_meta_impl */
export function checkSourceShape(self: Tensor, source: Tensor, dim: number): void {
  const others = (t: Tensor): readonly number[] =>
    self.ndim === 0 || source.ndim === 0 ? t.sizes : t.sizes.toSpliced(dim, 1);
  if (sameNumbers(others(self), others(source))) return;
  throw new TesseraError(
    'shape-mismatch',
    `source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ${formatSizes(self.sizes)} source.shape = ${formatSizes(source.sizes)}`,
    { hints: ['expand() the source first.'] },
  );
}
