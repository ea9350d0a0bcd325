/**
 * @file `WorkerFailure`: an error of the worker that becomes a `TesseraError` on the calling thread.
 */
import type { Failure } from '../protocol.js';

/** See the file header. */
export class WorkerFailure extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** What to tell the calling thread of an error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof WorkerFailure) return error.failure;
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'distributed-unavailable', message, hints: [] };
}

/** A mismatch between ranks. */
export function mismatch(message: string): WorkerFailure {
  return new WorkerFailure({
    code: 'distributed-mismatch',
    message,
    hints: [
      'Every rank of a group calls the same collectives in the same order, with the same dtype, number of elements, reduction and root.',
    ],
  });
}
