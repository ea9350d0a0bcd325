/**
 * @file The errors of communication in the middle of synchronous code: on a device whose memory cannot be read there,
 * or over a communicator that needs the event loop.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { ProcessGroup } from './process-group.js';

/** The error of a tensor on a device. */
export function needsAwaiting(name: string, device: string): TesseraError {
  return new TesseraError(
    'data-async-only',
    `${name}: the memory of device '${device}' cannot be read without awaiting it, so it cannot be communicated in the middle of a function.`,
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

/** @throws data-async-only unless synchronous code can send all of these tensors, and wait for it */
export function requireBlocking(
  name: string,
  { communicator }: ProcessGroup,
  tensors: Iterable<Tensor>,
): void {
  for (const { device } of tensors) if (device !== 'cpu') throw needsAwaiting(name, device);
  if (communicator.canBlock) return;
  throw new TesseraError(
    'data-async-only',
    `${name}: the communicator '${communicator.backend}' cannot wait without giving the event loop a turn.`,
    {
      context: { op: name, backend: communicator.backend },
      hints: ['Await the collective that works in place: await allReduce(tensor).'],
    },
  );
}
