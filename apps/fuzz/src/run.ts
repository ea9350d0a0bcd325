/**
 * @file Checking many programs.
 */
import { type Mismatch, checkProgram } from './check.js';
import { generateProgram } from './generate.js';
import { minimise } from './minimise.js';
import type { FuzzOptions } from './options.js';
import type { Program } from './program.js';

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

/** What differs, with sizes as the program says or, of a dynamic run, with all of them as symbols and then with none. */
async function checkForms(
  program: Program,
  backends: readonly string[],
  dynamic: boolean,
): Promise<Mismatch | null> {
  if (!dynamic) return checkProgram(program, backends);
  return (
    (await checkProgram({ ...program, dynamic: true }, backends)) ??
    (await checkProgram({ ...program, dynamic: false }, backends))
  );
}

/** Runs programs `seed`, `seed + 1`, …; each that differs is minimised and told. */
export async function runFuzz(
  { n, seed, backends, extras, dynamic, devices }: Omit<FuzzOptions, 'workers' | 'json'>,
  onMismatch: (mismatch: Mismatch) => void,
): Promise<FuzzResult> {
  const start = performance.now();
  const failed: number[] = [];
  for (let i = 0; i < n; i++) {
    const drawn = dynamic ? { ...extras, sizes: true } : extras;
    const mismatch = await checkForms(
      await generateProgram(seed + i, drawn, devices),
      backends,
      dynamic,
    );
    if (mismatch === null) continue;
    failed.push(seed + i);
    onMismatch(failed.length <= MINIMISED ? await minimise(mismatch) : mismatch);
  }
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  return { seed, n, backends, mismatches: failed.length, failed, died: [], seconds };
}
