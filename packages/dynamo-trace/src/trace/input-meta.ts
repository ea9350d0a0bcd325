/**
 * @file What a tensor was when a segment took it as an input.
 *
 * A segment that ran op by op is compiled when the call is over; by then the program may have made its
 * inputs others (`unsqueeze_`, a gradient's history, memory that was released).
 */
import { type Tensor } from '@tessera/tensor';
import { gradFnOf, requiresGrad } from '@tessera/tensor/internal';
import { TensorGuard } from '../guards/tensor-guard.js';

/** See the file header. */
export interface InputMeta {
  readonly guard: TensorGuard;
  readonly offset: number;
  readonly isLeaf: boolean;
}

/** Only what takes gradients is asked for its history: a view that was made and written to without them throws, as in PyTorch. */
const isLeafNow = (tensor: Tensor): boolean => !requiresGrad(tensor) || gradFnOf(tensor) === null;

/** What a tensor is now. */
export function inputMetaOf(tensor: Tensor): InputMeta {
  const { storageOffset: offset } = tensor;
  return { guard: TensorGuard.of(tensor), offset, isLeaf: isLeafNow(tensor) };
}

/** Whether a tensor has a value and is still what it was. */
export function isStill(tensor: Tensor, { guard, offset, isLeaf }: InputMeta): boolean {
  const storage = tensor.storageOrNull;
  if (storage === null || storage.state === 'released' || storage.isWithdrawn) return false;
  if (tensor.storageOffset !== offset || isLeafNow(tensor) !== isLeaf) return false;
  return guard.check(tensor);
}
