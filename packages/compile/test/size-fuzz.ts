/**
 * @file What tests of random programs share: numbers from a seed, and outcomes.
 */
import { isTesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';

/** Numbers from a seed: mulberry32. */
export function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % sides;
  };
}

/** A result as text to compare coarsely, or the code of the error. */
export type Outcome =
  { readonly values: readonly unknown[]; readonly shape: readonly number[] } | string;

export function outcome(run: () => Tensor): Outcome {
  try {
    const t = run();
    return { values: t.reshape([-1]).toArray() as number[], shape: [...t.shape] };
  } catch (error) {
    return isTesseraError(error) ? error.code : `throws ${String(error)}`;
  }
}

/** Whether two outcomes are the same, but for rounding of what the largest value is a sum of. */
export function agree(want: Outcome, got: Outcome): boolean {
  if (typeof want === 'string' || typeof got === 'string') return want === got;
  const wanted = want.values.map(Number);
  const largest = wanted
    .map(Math.abs)
    .reduce((most, a) => (a > most && a < Infinity ? a : most), 1);
  return (
    want.shape.join() === got.shape.join() &&
    wanted.every((a, i) => {
      const b = Number(got.values[i]);
      return Object.is(a, b) || Math.abs(a - b) <= 1e-3 * largest;
    })
  );
}
