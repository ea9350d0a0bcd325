/**
 * @file Scopes of state: what a callback changes comes back when it returns, throws, or its promise settles.
 */

function isPromise(value: unknown): value is Promise<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

/** Runs `fn`, then `restore`; after an async `fn`, once its promise settles. */
export function scoped<R>(fn: () => R, restore: () => void): R {
  let result: R;
  try {
    result = fn();
  } catch (error) {
    restore();
    throw error;
  }
  if (isPromise(result)) return result.finally(restore) as R;
  restore();
  return result;
}
