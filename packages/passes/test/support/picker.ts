/**
 * @file Reproducible choices.
 */

/** A small deterministic generator: `pick(n)` is below `n`. */
export type Pick = (n: number) => number;

/** The generator of a seed. */
export function picker(seed: number): Pick {
  let state = (Math.imul(seed + 1, 2654435761) ^ 0x5bd1e995) >>> 0 || 1;
  return (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % n;
  };
}
