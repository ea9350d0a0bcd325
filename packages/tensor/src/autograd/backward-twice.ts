/**
 * @file The errors of a backward pass through nodes whose saved tensors are gone, or not what they were.
 */
import { TesseraError } from '@tessera/shared';

/** What a node called `nodeName` throws when it runs after its saved tensors were freed. */
export function backwardTwice(nodeName: string): TesseraError {
  return new TesseraError(
    'backward-twice',
    `Trying to backward through the graph a second time (${nodeName}): saved tensors were freed by the first backward().`,
    { hints: ['Pass retainGraph: true to the first backward() for a second.'] },
  );
}

/** The error of a saved tensor that was modified. */
export function modifiedSince(what: string, ...hints: readonly string[]): TesseraError {
  return new TesseraError(
    'inplace-version',
    `one of the variables needed for gradient computation has been modified by an inplace operation: ${what}`,
    {
      hints: ['Use the out-of-place op, or clone() the tensor first.', ...hints],
    },
  );
}
