/**
 * @file Timing of very short work: the best of several rounds, per unit.
 */

/** One measured cost against its goal. */
export interface Cost {
  readonly name: string;
  /** µs per unit; the best round. */
  readonly microseconds: number;
  /** The goal, in µs. */
  readonly goal: number;
  readonly unit: string;
}

const ROUNDS = 9;
/** How long a round lasts, in ms. */
const ROUND_MS = 60;

/** µs per call of `work`: the best of several rounds. */
export function bestMicroseconds(work: () => void): number {
  for (let i = 0; i < 200; i++) work();
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    let calls = 0;
    const start = performance.now();
    let elapsed = 0;
    while (elapsed < ROUND_MS) {
      for (let i = 0; i < 20; i++) work();
      calls += 20;
      elapsed = performance.now() - start;
    }
    best = Math.min(best, (elapsed * 1000) / calls);
  }
  return best;
}
