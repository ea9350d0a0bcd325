/**
 * @file What a tensor was when a segment took it as an input.
 *
 * A segment that ran op by op is compiled when the call is over; by then the program may have made its
 * inputs others (`unsqueeze_`, a gradient's history, memory that was released).
 */
import type { Tensor, TensorMeta } from '@tessera/tensor';
import { gradFnOf, isHistoryRefused, requiresGrad, sameNumbers } from '@tessera/tensor/internal';

/** See the file header. */
export interface InputMeta extends TensorMeta {
  readonly requiresGrad: boolean;
  readonly offset: number;
  readonly isLeaf: boolean;
}

/** What a tensor is now. */
export function inputMetaOf(tensor: Tensor): InputMeta {
  const { dtype, device, sizes, strides, storageOffset: offset } = tensor;
  const grad = requiresGrad(tensor);
  return {
    dtype,
    device,
    sizes,
    strides,
    requiresGrad: grad,
    offset,
    isLeaf: isLeaf(tensor, grad),
  };
}

function isLeaf(tensor: Tensor, grad: boolean): boolean {
  return !grad || (!isHistoryRefused(tensor) && gradFnOf(tensor) === null);
}

/** Whether a tensor has a value and is still what it was. */
export function isStill(tensor: Tensor, meta: InputMeta): boolean {
  const storage = tensor.storageOrNull;
  if (storage === null || storage.state === 'released' || storage.isWithdrawn) return false;
  const grad = requiresGrad(tensor);
  return (
    tensor.storageOffset === meta.offset &&
    grad === meta.requiresGrad &&
    isLeaf(tensor, grad) === meta.isLeaf &&
    tensor.dtype === meta.dtype &&
    tensor.device === meta.device &&
    sameNumbers(tensor.sizes, meta.sizes) &&
    meta.strides.every((stride, i) => tensor.strides[i] === stride || meta.sizes[i] === 1)
  );
}
