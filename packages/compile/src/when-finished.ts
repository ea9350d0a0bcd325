/**
 * @file Waiting for the end of a call that is explained: async functions and generators end later.
 */
import type { Explanation } from '@tessera/dynamo-trace';

/** What `explain` gives for a function with this result: a promise where the function is async. */
export type Explained<R> = 0 extends R & 1
  ? Explanation
  : R extends Promise<unknown> | AsyncIterator<unknown>
    ? Promise<Explanation>
    : Explanation;

function isIterator(
  value: unknown,
  method: typeof Symbol.asyncIterator,
): value is AsyncIterator<unknown>;
function isIterator(value: unknown, method: typeof Symbol.iterator): value is Iterator<unknown>;
function isIterator(value: unknown, method: symbol): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    method in value &&
    typeof (value as { next?: unknown }).next === 'function'
  );
}

/** Takes all steps of a generator, waits for a promise, and then calls `then`. */
export function whenFinished(
  result: unknown,
  then: () => Explanation,
): Explanation | Promise<Explanation> {
  if (result instanceof Promise) return result.then(then);
  if (isIterator(result, Symbol.asyncIterator)) return drain(result, then);
  if (isIterator(result, Symbol.iterator)) while (result.next().done !== true);
  return then();
}

async function drain(steps: AsyncIterator<unknown>, then: () => Explanation): Promise<Explanation> {
  while ((await steps.next()).done !== true);
  return then();
}
