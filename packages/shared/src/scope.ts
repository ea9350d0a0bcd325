/**
 * @file Scopes of state: what a callback changes comes back when it returns, throws, or its promise settles.
 */

/** Runs `fn`, then `end`; after an async `fn`, once its promise settles. */
export function scoped<R>(fn: () => R, end: () => void): R {
  let isPending = false;
  try {
    const result = fn();
    isPending = typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function';
    return isPending ? (Promise.resolve(result).finally(end) as R) : result;
  } finally {
    if (!isPending) end();
  }
}

/** Runs `fn` with a setting at `value`. */
export type RunInScope<T> = <R>(value: T, fn: () => R) => R;

/**
 * What runs functions with a setting that `get` reads and `put` changes. Scopes of async functions may be open at once and end in any
 * order: the innermost that is open decides, and when all have ended the setting is what it was before the first.
 */
export function scopesOf<T>(get: () => T, put: (value: T) => unknown): RunInScope<T> {
  /** Outermost first: what gives each another value to put back. */
  const open: ((value: T) => unknown)[] = [];
  return (value, fn) => {
    let before = get();
    const amend = (outer: T): unknown => (before = outer);
    put(value);
    open.push(amend);
    return scoped(fn, () => {
      const at = open.indexOf(amend);
      open.splice(at, 1);
      (open[at] ?? put)(before);
    });
  };
}
