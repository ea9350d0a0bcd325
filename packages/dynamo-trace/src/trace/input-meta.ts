/**
 * @file What a tensor was when a segment took it as an input.
 *
 * A segment that ran op by op is compiled when the call is over; by then the program may have made its
 * inputs others (`unsqueeze_`, a gradient's history, memory that was released).
 */
import type { Tensor } from '@tessera/tensor';
import { gradFnOf, isHistoryRefused, requiresGrad } from '@tessera/tensor/internal';
import { TensorGuard } from '../guards/tensor-guard.js';

/** See the file header. */
export interface InputMeta {
  readonly guard: TensorGuard;
  readonly offset: number;
  readonly isLeaf: boolean;
}

/** What a tensor is now. */
export function inputMetaOf(tensor: Tensor): InputMeta {
  return {
    guard: TensorGuard.of(tensor),
    offset: tensor.storageOffset,
    isLeaf: isLeaf(tensor),
  };
}

function isLeaf(tensor: Tensor): boolean {
  return !requiresGrad(tensor) || (!isHistoryRefused(tensor) && gradFnOf(tensor) === null);
}

/** Whether a tensor has a value and is still what it was. */
export function isStill(tensor: Tensor, { guard, offset, isLeaf: wasLeaf }: InputMeta): boolean {
  const storage = tensor.storageOrNull;
  if (storage === null || storage.state === 'released' || storage.isWithdrawn) return false;
  return tensor.storageOffset === offset && guard.check(tensor) && isLeaf(tensor) === wasLeaf;
}
