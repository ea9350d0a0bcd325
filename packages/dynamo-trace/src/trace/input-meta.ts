/**
 * @file What a tensor was when a segment took it as an input.
 *
 * A segment that ran op by op is compiled when the call is over; by then the program may have made its
 * inputs others (`unsqueeze_`, a gradient's history, memory that was released).
 */
import { type DType, type Tensor } from '@tessera/tensor';
import { gradFnOf, requiresGrad, sameNumbers } from '@tessera/tensor/internal';

/** See the file header. */
export interface InputMeta {
  readonly dtype: DType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly requiresGrad: boolean;
  readonly isLeaf: boolean;
}

/** What a tensor is now. */
export function inputMetaOf(tensor: Tensor): InputMeta {
  const { dtype, sizes, strides, storageOffset } = tensor;
  return {
    dtype,
    sizes,
    strides,
    offset: storageOffset,
    requiresGrad: requiresGrad(tensor),
    isLeaf: gradFnOf(tensor) === null,
  };
}

/** Whether a tensor has a value and is still what it was. */
export function isStill(tensor: Tensor, meta: InputMeta): boolean {
  const storage = tensor.storageOrNull;
  if (storage === null || storage.state === 'released' || storage.isWithdrawn) return false;
  return (
    tensor.dtype === meta.dtype &&
    tensor.storageOffset === meta.offset &&
    requiresGrad(tensor) === meta.requiresGrad &&
    (gradFnOf(tensor) === null) === meta.isLeaf &&
    sameNumbers(tensor.sizes, meta.sizes) &&
    sameNumbers(tensor.strides, meta.strides)
  );
}
