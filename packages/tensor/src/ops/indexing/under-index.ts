/**
 * @file What a scatter reads of its source, which may be larger than the index.
 */
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { narrow } from '../view/slice.js';

/** The part of a source that an index reads: what lies outside has no gradient. */
export function underIndex<Source>(index: Tensor, src: Source): Source | Tensor {
  if (!isTensor(src) || !isTensor(index) || src.ndim !== index.ndim) return src;
  return index.sizes.reduce<Tensor>(
    (part, size, d) => (size < part.sizes[d]! ? narrow(part, d, 0, size) : part),
    src,
  );
}
