/**
 * @file The host's way of following an async function across `await`, where it has one.
 *
 * Node: `AsyncLocalStorage`. Browsers have none yet (the AsyncContext proposal); there, suspended calls
 * are found by the tensors that they work on.
 */

/** A value that follows the control flow. */
export interface AsyncContext<T> {
  run<R>(value: T, fn: () => R): R;
  getStore(): T | undefined;
}

interface HostProcess {
  getBuiltinModule?(name: string): unknown;
}

/** A new context, or null where the host has none. */
export function createAsyncContext<T>(): AsyncContext<T> | null {
  const { process } = globalThis as { process?: HostProcess };
  const hooks = process?.getBuiltinModule?.('node:async_hooks') as
    { AsyncLocalStorage: new () => AsyncContext<T> } | undefined;
  return hooks === undefined ? null : new hooks.AsyncLocalStorage();
}
