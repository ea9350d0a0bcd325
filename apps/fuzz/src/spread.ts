/**
 * @file How far apart eager runs of a program are with rounding noise, and differences beyond that.
 */
import { type Spread, compareSeen, spreadKey } from './compare.js';
import { Dice } from './dice.js';
import type { Seen } from './observe.js';

/** What was seen after each call of a run. */
export type Run = readonly (readonly Seen[])[];

/** Runs with noise until a difference counts: in a few of them noise may cancel out by chance. */
const NOISY_RUNS: readonly number[] = [4, 32];

/** How far results are apart in `runs` runs with rounding noise; null if what is seen is something else. */
async function spreadOf(
  want: Run,
  runs: number,
  run: (noise: Dice) => Promise<Run>,
): Promise<Spread | null> {
  const spread = new Map<string, Float64Array>();
  for (let seed = 0; seed < runs; seed++) {
    const seen = await run(new Dice(seed));
    for (const [call, list] of want.entries()) {
      for (const [i, w] of list.entries()) {
        const g = seen[call]![i];
        if (w.kind !== 'tensor') {
          if (g?.path !== w.path || g.kind !== 'value' || !Object.is(g.value, w.value)) return null;
          continue;
        }
        if (g?.kind !== 'tensor' || g.values.length !== w.values.length) return null;
        const key = spreadKey(call, w.path);
        const widest = spread.get(key) ?? new Float64Array(w.values.length);
        w.values.forEach((value, k) => {
          const off = Object.is(g.values[k], value) ? 0 : Math.abs(g.values[k]! - value);
          widest[k] = Math.max(widest[k]!, Number.isNaN(off) ? Infinity : off * 10);
        });
        spread.set(key, widest);
      }
    }
  }
  return spread;
}

/** Compares calls of a program with its eager run, which is run again with noise where that is needed. */
export class Tolerance {
  private readonly spreads = new Map<number, Promise<Spread | null>>();

  constructor(
    private readonly want: Run,
    private readonly noisy: (noise: Dice) => Promise<Run>,
  ) {}

  /** How call `i` differs beyond rounding; null if it does not, and for a program that a rounding sends another way. */
  async difference(i: number, got: readonly Seen[]): Promise<string | null> {
    let found = compareSeen(i, got, this.want[i]!, null);
    for (const runs of NOISY_RUNS) {
      if (found === null) break;
      if (!this.spreads.has(runs)) this.spreads.set(runs, spreadOf(this.want, runs, this.noisy));
      const spread = await this.spreads.get(runs)!;
      if (spread === null) return null;
      found = compareSeen(i, got, this.want[i]!, spread);
    }
    return found;
  }
}
