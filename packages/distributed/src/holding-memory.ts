/**
 * @file Memory that an operation of a communicator reads or writes: it stays until the operation is done.
 */
import { isTesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { Pending } from './communicator.js';

/**
 * The operation, with the memory of `tensors` held until it is done: they may be disposed of meanwhile. What timed out
 * may still be written to, and is held for good. An error that nobody waits for is nobody's.
 */
export function holdingMemory(pending: Pending, tensors: readonly Tensor[]): Pending {
  const holds = tensors.map(({ storage }) => storage.hold());
  const release = (): void => holds.forEach((end) => end());
  const afterError = (error: unknown): void => {
    if (!isTesseraError(error, 'distributed-timeout')) release();
  };
  const { done } = pending;
  done.then(release, afterError);
  return {
    done,
    waitSync: () => {
      try {
        pending.waitSync();
      } catch (error) {
        afterError(error);
        throw error;
      }
      release();
    },
  };
}
