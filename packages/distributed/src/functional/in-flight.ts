/**
 * @file Collectives that have been started and that nobody has waited for yet, by the memory they fill.
 *
 * A graph holds the start and the wait as two operators with a tensor between them; what connects them at run time is
 * the address. Until an operation is done, the memory that it uses is held, whatever becomes of the tensors.
 */
import type { Tensor } from '@tessera/tensor';
import type { Pending } from '../communicator.js';
import { holdingMemory } from '../holding-memory.js';

const operations = new Map<number, Pending>();

/** Notes that `result` is being filled; its memory, and that of `uses`, is held until it is. */
export function noteStarted(result: Tensor, pending: Pending, uses: readonly Tensor[] = []): void {
  operations.set(result.dataPtr(), holdingMemory(pending, [result, ...uses]));
}

/** Waits until a tensor is filled, if it is being filled. @throws what the collective threw */
export function finishFilling(tensor: Tensor): void {
  const address = tensor.dataPtr();
  const pending = operations.get(address);
  if (pending === undefined) return;
  operations.delete(address);
  pending.waitSync();
}
