/**
 * @file Writing where a mask holds, without the positions, whose number would have to be read.
 */
import { checkMask, isMask } from '../../kernels/advanced-index.js';
import type { Tensor } from '../../tensor.js';
import { toDevice } from '../arrange/copy.js';
import { zerosLike } from '../factory/like.js';
import { add } from '../pointwise/arithmetic.js';
import { ne } from '../pointwise/comparison.js';
import { where } from '../pointwise/where.js';
import { unflatten } from '../view/dims.js';
import { expand, reshape } from '../view/view.js';
import { type TensorIndices, checkPutType } from './indexing.js';
import { maskedScatter } from './masked-scatter.js';

/** The dimension from which on a mask is the only index, or null. */
export function onlyMask(indices: TensorIndices): number | null {
  const given = indices.filter((index) => index !== null);
  return given.length === 1 && isMask(given[0]!) ? indices.indexOf(given[0]!) : null;
}

/**
 * `self` with values, or its sums with them, where the only index is a mask and holds. Null if it is not, and on `cpu`
 * for a value of each position: how many there are is checked there, and elsewhere only that they suffice.
 *
 * @throws shape-mismatch, dtype-mismatch
 */
export function putUnderMask(
  self: Tensor,
  indices: TensorIndices,
  values: Tensor,
  accumulate: boolean,
): Tensor | null {
  const dim = onlyMask(indices);
  if (dim === null) return null;
  const mask = indices[dim]!;
  checkMask(self.sizes, dim, mask);
  checkPutType(self, values);
  const inner = self.sizes.slice(dim + mask.ndim);
  const at = values.ndim - inner.length - 1;
  const count = at < 0 ? 1 : values.sizes[at]!;
  if (count !== 1 && self.device === 'cpu') return null;
  const ones = (sizes: readonly number[]): number[] => sizes.map(() => 1);
  const holds = reshape(ne(toDevice(mask, self.device), 0), [...mask.sizes, ...ones(inner)]);
  if (count === 1) {
    const value = at < 0 ? values : unflatten(values, at, ones(mask.sizes));
    return where(holds, accumulate ? add(self, value) : value, self);
  }
  const each = expand(values, [...self.sizes.slice(0, dim), count, ...inner]);
  return accumulate
    ? add(self, maskedScatter(zerosLike(self), holds, each))
    : maskedScatter(self, holds, each);
}
