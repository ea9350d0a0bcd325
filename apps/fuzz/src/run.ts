/**
 * @file Checking many programs.
 */
import { checkProgram } from './check.js';
import { generateProgram } from './generate.js';
import { minimise, minimiseTraining } from './minimise.js';
import type { FuzzOptions } from './options.js';
import { printProgram } from './print-program.js';
import { checkTraining, trainingRuns } from './training/check.js';
import { drawTraining, isTraining } from './training/draw.js';
import { printTraining } from './training/print.js';

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

/** Programs that are made for all sizes, or for each: as they say, or, of a dynamic run, both. */
function formsOf<P extends { readonly dynamic: boolean | null }>(
  program: P,
  dynamic: boolean,
): P[] {
  return dynamic ? [true, false].map((form) => ({ ...program, dynamic: form })) : [program];
}

async function firstOf<P, M>(
  forms: readonly P[],
  check: (program: P) => Promise<M | null>,
): Promise<M | null> {
  for (const form of forms) {
    const found = await check(form);
    if (found !== null) return found;
  }
  return null;
}

/** Runs programs `seed`, `seed + 1`, …; each that differs is minimised and told, as a file. */
export async function runFuzz(
  { n, seed, backends, extras, training, dynamic, devices }: Omit<FuzzOptions, 'workers' | 'json'>,
  onMismatch: (file: string) => void,
): Promise<FuzzResult> {
  const start = performance.now();
  const failed: number[] = [];
  /** What a program showed: it, or the smallest that still does. */
  const tell = async <M>(
    at: number,
    found: M | null,
    minimised: (mismatch: M) => Promise<M>,
    print: (mismatch: M) => string,
  ): Promise<void> => {
    if (found === null) return;
    failed.push(at);
    onMismatch(print(failed.length <= MINIMISED ? await minimised(found) : found));
  };
  for (let at = seed; at < seed + n; at++) {
    if (training ?? (extras === null && isTraining(at))) {
      const program = await drawTraining(at, devices, trainingRuns);
      const found = await firstOf(formsOf(program, dynamic), (each) =>
        checkTraining(each, backends),
      );
      await tell(at, found, minimiseTraining, printTraining);
      continue;
    }
    const drawn = dynamic ? { ...extras, sizes: true } : extras;
    const program = await generateProgram(at, drawn, devices);
    const found = await firstOf(formsOf(program, dynamic), (each) => checkProgram(each, backends));
    await tell(at, found, minimise, printProgram);
  }
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  return { seed, n, backends, mismatches: failed.length, failed, died: [], seconds };
}
