/**
 * @file Writes to the memory of tensors that are kept from call to call, those included that a tracer has still to do.
 */
import type { Tensor } from '@tessera/tensor';
import { modes } from '@tessera/tensor/internal';

/** Runs the writes to a tensor's memory that a tracer has recorded: this ends its graph. */
export function settleWrites({ storage }: Tensor): void {
  if (modes.pre?.dueBefore?.(storage, false) != null) storage.assertReadable('ONNX: a decision');
}

/** Whether nobody has written to a tensor since it was made with its values. */
export function isUnwritten(tensor: Tensor): boolean {
  settleWrites(tensor);
  return tensor.storage.version === 0;
}
