/**
 * @file The error that a function throws, for asserting several things about it.
 */

/** Runs `fn` and returns what it throws. */
export function thrownBy(fn: () => unknown): Error {
  try {
    fn();
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected the function to throw, but it did not');
}
