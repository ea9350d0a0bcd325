/**
 * @file Waiting for the end of a call that is explained: async functions end later.
 */
import type { Explanation } from '@tessera/dynamo-trace';

/** What `explain` gives for a function with this result: a promise where the function is async. */
export type Explained<R> = 0 extends R & 1
  ? Explanation
  : R extends Promise<unknown>
    ? Promise<Explanation>
    : Explanation;

/** Waits for a promise, and then calls `then`. */
export function whenFinished(
  result: unknown,
  then: () => Explanation,
): Explanation | Promise<Explanation> {
  return result instanceof Promise ? result.then(then) : then();
}
