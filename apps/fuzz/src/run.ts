/**
 * @file Checking many programs.
 */
import { type Mismatch, checkProgram } from './check.js';
import { generateProgram } from './generate.js';
import { minimise } from './minimise.js';
import type { FuzzOptions } from './options.js';

/** What came of a run: the JSON line. */
export interface FuzzResult {
  readonly seed: number;
  readonly n: number;
  readonly backends: readonly string[];
  readonly mismatches: number;
  /** Seeds of programs that differ: `--seed` of each with `--n 1` runs it again. */
  readonly failed: readonly number[];
  /** First seeds of ranges whose process died before its end. */
  readonly died: readonly number[];
  readonly seconds: number;
}

/** Programs that are minimised; the rest are only counted. */
const MINIMISED = 5;

/** Runs programs `seed`, `seed + 1`, …; each that differs is minimised and told. */
export async function runFuzz(
  { n, seed, backends, extras, devices }: Omit<FuzzOptions, 'workers' | 'json'>,
  onMismatch: (mismatch: Mismatch) => void,
): Promise<FuzzResult> {
  const start = performance.now();
  const failed: number[] = [];
  for (let i = 0; i < n; i++) {
    const mismatch = await checkProgram(await generateProgram(seed + i, extras, devices), backends);
    if (mismatch === null) continue;
    failed.push(seed + i);
    onMismatch(failed.length <= MINIMISED ? await minimise(mismatch) : mismatch);
  }
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  return { seed, n, backends, mismatches: failed.length, failed, died: [], seconds };
}
