/**
 * @file The clock, out of reach of the effect traps that `pure` captures set.
 */

const read = performance.now.bind(performance);

/** Milliseconds since the program started. */
export function now(): number {
  return read();
}
