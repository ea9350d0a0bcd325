/**
 * @file Generators of compiled functions, sync and async: their bodies run under the mode of the call.
 *
 * Between two steps the tensors belong to the caller, so what the body asked for is computed at every
 * `yield`. The objects look like those that the function made: same prototype, other methods.
 */
import { withPreDispatchMode } from '@tessera/tensor/internal';
import type { Cursor } from '../cursor/cursor.js';
import { type Ending, beginCall, endCall, resumeGradMode, suspendCall } from './suspended-calls.js';

/** What all generators inherit from. */
const GENERATOR: object = parentOf(function* () {});
const ASYNC_GENERATOR: object = parentOf(async function* () {});

/** What all objects inherit from that functions of a kind make. */
function parentOf(example: object): object {
  return Object.getPrototypeOf(example).prototype;
}

/** Whether a function returned a generator. */
export function isGenerator(value: unknown): value is Generator {
  return Object.prototype.isPrototypeOf.call(GENERATOR, value as object);
}

/** Whether a function returned an async generator. */
export function isAsyncGenerator(value: unknown): value is AsyncGenerator {
  return Object.prototype.isPrototypeOf.call(ASYNC_GENERATOR, value as object);
}

/** An object of the same class that goes on by `step`. */
function like<T extends Generator | AsyncGenerator>(
  body: T,
  step: (advance: () => ReturnType<T['next']>) => unknown,
): T {
  const methods = (['next', 'return', 'throw'] as const).map((name) => {
    const method = body[name] as (...args: unknown[]) => ReturnType<T['next']>;
    const value = (...args: unknown[]): unknown => step(() => method.apply(body, args));
    return [name, { value, writable: true, configurable: true }];
  });
  const prototype: object = Object.getPrototypeOf(body);
  return Object.create(prototype, Object.fromEntries(methods));
}

/** What the caller gets of a step: between two, the tensors are his. */
function handOver(
  { frame }: Cursor,
  item: IteratorResult<unknown>,
  ending: Ending,
): IteratorResult<unknown> {
  if (item.done === true) return { value: ending.finish(item.value), done: true };
  frame.flush?.({ code: 'GB0006', text: 'a generator yielded' });
  return item;
}

/** A generator whose body runs under the call's mode, step by step. */
export function driveGenerator(call: Cursor, body: Generator, ending: Ending): Generator {
  let ended = false;
  const step = (advance: () => IteratorResult<unknown>): IteratorResult<unknown> => {
    if (ended) return advance();
    resumeGradMode(call);
    let item: IteratorResult<unknown>;
    try {
      item = withPreDispatchMode(call, advance);
    } catch (error) {
      ended = true;
      ending.fail(error);
      throw error;
    }
    ended = item.done === true;
    return handOver(call, item, ending);
  };
  return like(body, step);
}

/** An async generator whose body runs under the call's mode, across its waits. */
export function driveAsyncGenerator(
  call: Cursor,
  body: AsyncGenerator,
  ending: Ending,
): AsyncGenerator {
  let ended = false;
  /** Steps that were asked for and have not ended; the body takes them one after the other. */
  let pending = 0;
  let last: Promise<unknown> = Promise.resolve();
  type Item = IteratorResult<unknown>;
  const run = async (advance: () => Promise<Item>): Promise<Item> => {
    if (ended) return advance();
    resumeGradMode(call);
    let item: Item;
    try {
      const step = withPreDispatchMode(call, () => beginCall(call, advance));
      suspendCall(call);
      item = await step;
      endCall(call);
    } catch (error) {
      endCall(call);
      ended = true;
      ending.fail(error);
      throw error;
    }
    ended = item.done === true;
    return handOver(call, item, ending);
  };
  const step = (advance: () => Promise<Item>): Promise<Item> => {
    const result = pending === 0 ? run(advance) : last.then(() => run(advance));
    pending++;
    const done = (): void => void pending--;
    last = result.then(done, done);
    return result;
  };
  return like(body, step);
}
