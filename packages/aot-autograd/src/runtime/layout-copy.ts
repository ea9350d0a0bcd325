/**
 * @file Copies of tensors in the layout that compiled code was made for.
 */
import { type Tensor, type TensorMeta, asStrided, clone } from '@tessera/tensor';
import { emptyFromMeta, hasInternalOverlap, storageExtent } from '@tessera/tensor/internal';
import { sameStrides } from '../layout.js';

/** The tensor itself if it has that dtype and those strides, else a copy that does. */
export function withLayout(tensor: Tensor, meta: TensorMeta): Tensor {
  if (tensor.dtype === meta.dtype && sameStrides(meta.sizes, tensor.strides, meta.strides))
    return tensor;
  return emptyFromMeta(meta).copy_(tensor);
}

/** A copy with the same strides, also of a tensor that overlaps itself. */
export function copyWithStrides(tensor: Tensor): Tensor {
  const { sizes, strides } = tensor;
  if (!hasInternalOverlap(sizes, strides)) return emptyFromMeta(tensor).copy_(tensor);
  const memory = asStrided(tensor, [storageExtent(sizes, strides)], [1], tensor.storageOffset);
  return asStrided(clone(memory), sizes, strides, 0);
}
