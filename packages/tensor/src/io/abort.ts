/**
 * @file Waiting for something that an `AbortSignal` may end.
 *
 * As `fetch` does, whatever is aborted rejects with the signal's reason, unchanged.
 */

/** What the promise gives, unless the signal is aborted first: then rejects with `signal.reason`. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    const listening = (): void => signal.removeEventListener('abort', abort);
    // Handled in any case: a rejection that comes after the abort concerns nobody.
    promise.then(resolve, reject).finally(listening);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** A signal that follows all that are given; undefined if there is none. */
export function anySignal(
  signals: readonly (AbortSignal | null | undefined)[],
): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== null && signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}
