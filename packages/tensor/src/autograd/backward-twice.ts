/**
 * @file The error of a backward pass through nodes whose saved tensors are gone.
 */
import { TesseraError } from '@tessera/shared';

/** What a node called `nodeName` throws when it runs after its saved tensors were freed. */
export function backwardTwice(nodeName: string): TesseraError {
  return new TesseraError(
    'backward-twice',
    `Trying to backward through the graph a second time (${nodeName}): saved tensors were freed by the first backward().`,
    { hints: ['Pass retainGraph: true to the first backward() if you need a second.'] },
  );
}
