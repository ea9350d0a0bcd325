/**
 * @file Collectives that have been started and that nobody has waited for yet, by the memory they fill.
 *
 * A graph holds the start and the wait as two operators with a tensor between them; what connects them at run time is
 * the address. Until an operation is done, the tensors that it uses are kept.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, itemSize } from '@tessera/tensor';
import type { Pending } from '../communicator.js';
import { type HostBuffer, heapBuffer } from '../host-buffer.js';

interface Operation {
  readonly pending: Pending;
  /** What the operation uses; empty once it is done. */
  uses: readonly unknown[];
}

const operations = new Map<number, Operation>();

/** Byte address of a CPU tensor's first element. */
export function addressOf({ storage, storageOffset, dtype }: Tensor): number {
  return storage.ptr + storageOffset * itemSize(dtype);
}

/** Whether two CPU tensors begin at the same place. */
export function isSameMemory(a: Tensor, b: Tensor): boolean {
  return addressOf(a) === addressOf(b);
}

/** A contiguous CPU tensor as a communicator sees it. */
export function bufferOf(tensor: Tensor): HostBuffer {
  return heapBuffer(addressOf(tensor), tensor.dtype, tensor.numel);
}

/** Notes that `result` is being filled; `uses` is kept until it is. */
export function noteStarted(result: Tensor, pending: Pending, uses: readonly unknown[] = []): void {
  const operation: Operation = { pending, uses: [result, ...uses] };
  const release = (): void => {
    operation.uses = [];
  };
  // Whoever waits hears of the error.
  pending.done.then(release, release);
  operations.set(addressOf(result), operation);
}

/** Waits until a tensor is filled, if it is being filled. @throws what the collective threw */
export function finishFilling(tensor: Tensor): void {
  const address = addressOf(tensor);
  const operation = operations.get(address);
  if (operation === undefined) return;
  operations.delete(address);
  operation.pending.waitSync();
}

/** The error of a collective in the middle of synchronous code, on a device whose memory cannot be read there. */
export function needsAwaiting(name: string, device: string): TesseraError {
  return new TesseraError(
    'data-async-only',
    `${name}: the memory of device '${device}' cannot be read without awaiting it, so no collective can run on it in the middle of a function.`,
    {
      context: { op: name, device },
      hints: [
        'Outside of compiled functions, await the collective: await allReduce(tensor).',
        'With DistributedDataParallel, await model.synchronize() between backward() and the step.',
        "Or keep the tensors that are communicated on 'cpu'.",
      ],
    },
  );
}
