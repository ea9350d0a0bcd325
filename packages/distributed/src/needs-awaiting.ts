/**
 * @file The error of communication in the middle of synchronous code, on a device whose memory cannot be read there.
 */
import { TesseraError } from '@tessera/shared';

/** See the file header. */
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
