/**
 * @file Whether tensors are leaves: of a view whose history its base has lost, asking is an error.
 */
import { isTesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';

/** Whether a tensor is a leaf, or the code of the error that asking is. */
export function leafOf(t: Tensor): boolean | string {
  try {
    return t.isLeaf;
  } catch (error) {
    if (!isTesseraError(error)) throw error;
    return error.code;
  }
}
