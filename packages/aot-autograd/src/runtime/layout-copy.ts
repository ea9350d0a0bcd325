/**
 * @file A tensor in the dtype and strides that a compiled graph was made for.
 */
import { type Tensor, type TensorMeta, emptyFromMeta } from '@tessera/tensor';
import { sameStrides } from '../layout.js';

/** The tensor itself if it fits, else a copy that does. */
export function withLayout(tensor: Tensor, meta: TensorMeta): Tensor {
  if (tensor.dtype === meta.dtype && sameStrides(meta.sizes, tensor.strides, meta.strides))
    return tensor;
  return emptyFromMeta(meta).copy_(tensor);
}
