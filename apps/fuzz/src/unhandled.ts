/**
 * @file Errors that nobody waits for: compiled code that fails behind a caller's back is a difference too, and must not
 * end the process.
 */

/** Runs `fn` to its end; the first error that was thrown meanwhile where nobody could catch it, or null. */
export async function watchUnhandled<T>(
  fn: () => Promise<T>,
): Promise<{ readonly result: T; readonly unhandled: unknown }> {
  let unhandled: unknown = null;
  const note = (error: unknown): void => {
    unhandled ??= error;
  };
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
  try {
    const result = await fn();
    // Rejections are told when the present task has ended.
    await new Promise<void>((done) => setImmediate(done));
    return { result, unhandled };
  } finally {
    process.off('unhandledRejection', note);
    process.off('uncaughtException', note);
  }
}
