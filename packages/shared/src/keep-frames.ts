/**
 * @file How many frames of a stack the engine keeps, for a while.
 */

/**
 * Has the engine keep `count` frames of a stack; the result of the call undoes that. Nothing changes where the engine
 * does not count them, or may not be told (`node --frozen-intrinsics`).
 */
export function keepFrames(count: number): () => void {
  const { stackTraceLimit } = Error;
  if (!Object.isExtensible(Error)) return () => {};
  Error.stackTraceLimit = count;
  return () => {
    Error.stackTraceLimit = stackTraceLimit;
  };
}
