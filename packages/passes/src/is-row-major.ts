/**
 * @file Whether a product that takes a sum into itself leaves the sum's layout as it was.
 */
import type { Tensor } from '@tessera/tensor';
import { contiguousStrides, sameNumbers } from '@tessera/tensor/internal';

/**
 * Whether a value lies row by row, as products are. A sum takes the layout of its operands, of a transposed bias
 * say; views that were recorded of it would read a product at the wrong places.
 */
export function isRowMajor({ strides, sizes }: Tensor): boolean {
  return sameNumbers(strides, contiguousStrides(sizes));
}
