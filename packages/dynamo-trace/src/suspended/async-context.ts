/**
 * @file The host's way of following an async function across `await`, where it has one.
 *
 * Node: `AsyncLocalStorage`. Browsers have none yet (the AsyncContext proposal); there, suspended calls
 * are found by the tensors that they work on.
 */
import { nodeBuiltin } from '@tessera/shared';

/** A value that follows the control flow. */
export interface AsyncContext<T> {
  run<R>(value: T, fn: () => R): R;
  getStore(): T | undefined;
}

interface AsyncHooks {
  readonly AsyncLocalStorage: new <T>() => AsyncContext<T>;
}

/** A new context, or null where the host has none. */
export function createAsyncContext<T>(): AsyncContext<T> | null {
  const hooks = nodeBuiltin<AsyncHooks>('node:async_hooks');
  return hooks === null ? null : new hooks.AsyncLocalStorage<T>();
}
