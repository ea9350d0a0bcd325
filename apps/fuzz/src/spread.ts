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

/** How far results are apart in runs with rounding noise. */
interface Noisy {
  readonly spread: Spread;
  /** The first call in which a rounding sent a run another way: more than numbers differed. */
  readonly until: number;
}

/** Whether what is seen is the same but for numbers of tensors. */
function isAlike(want: Seen, got: Seen | undefined): boolean {
  if (got === undefined || got.path !== want.path) return false;
  return want.kind === 'tensor'
    ? got.kind === 'tensor' && got.values.length === want.values.length
    : got.kind === 'value' && Object.is(got.value, want.value);
}

async function spreadOf(
  want: Run,
  runs: number,
  run: (noise: Dice) => Promise<Run>,
): Promise<Noisy> {
  const spread = new Map<string, Float64Array>();
  let until = want.length;
  for (let seed = 0; seed < runs; seed++) {
    const seen = await run(new Dice(seed));
    for (const [call, list] of want.slice(0, until).entries()) {
      if (!list.every((w, i) => isAlike(w, seen[call]![i]))) {
        until = call;
        break;
      }
      for (const [i, w] of list.entries()) {
        const g = seen[call]![i];
        if (w.kind !== 'tensor' || g?.kind !== 'tensor') continue;
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
  return { spread, until };
}

/** Compares calls of a program with its eager run, which is run again with noise where that is needed. */
export class Tolerance {
  private readonly spreads = new Map<number, Promise<Noisy>>();

  constructor(
    private readonly want: Run,
    private readonly noisy: (noise: Dice) => Promise<Run>,
  ) {}

  /** How call `i` differs beyond rounding; null if it does not, and once a rounding sends the program another way. */
  async difference(i: number, got: readonly Seen[]): Promise<string | null> {
    let found = compareSeen(i, got, this.want[i]!, null);
    for (const runs of NOISY_RUNS) {
      if (found === null) break;
      if (!this.spreads.has(runs)) this.spreads.set(runs, spreadOf(this.want, runs, this.noisy));
      const { spread, until } = await this.spreads.get(runs)!;
      if (i >= until) return null;
      found = compareSeen(i, got, this.want[i]!, spread);
    }
    return found;
  }
}
