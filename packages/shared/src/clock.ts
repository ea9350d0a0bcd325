/**
 * @file The clock, out of reach of the effect traps that `pure` captures set.
 */

/** Milliseconds since the program started. Bound now: a `pure` capture watches the clock of the user's code. */
export const now: () => number = /* @__PURE__ */ performance.now.bind(performance);
