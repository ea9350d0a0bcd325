/**
 * @file Taking samples: warm-up, how many runs make a sample, and the alternation of engines.
 *
 * - V8 compiles a fresh WebAssembly module twice, and JavaScript more often: nothing counts before an
 *   engine has run for a while.
 * - A sample is as many runs as take 20 ms, so that the clock and a single interrupt do not matter.
 * - Engines take turns, each round in another order, so that what disturbs the machine disturbs all.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Prepared } from './engine.js';

/** How long and how often to measure. Times in milliseconds. */
export interface Effort {
  readonly rounds: number;
  /** Least time of a sample. */
  readonly sampleMs: number;
  /** Least time of running before samples count, for each engine. */
  readonly warmUpMs: number;
  /** Least number of runs before samples count. */
  readonly warmUpRuns: number;
}

/** Full measurement, or a look at whether everything works. */
export function effortFor(quick: boolean, rounds: number | null): Effort {
  return quick
    ? { rounds: rounds ?? 3, sampleMs: 5, warmUpMs: 60, warmUpRuns: 2 }
    : { rounds: rounds ?? 15, sampleMs: 20, warmUpMs: 400, warmUpRuns: 5 };
}

/** Pause between samples in milliseconds, in which idle threads of the other engines go to sleep. */
const PAUSE_MS = 8;

/** Runs `count` times, waits for the device, and returns the milliseconds that took. */
export async function timeRuns(program: Prepared, count: number): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < count; i++) {
    const pending = program.run();
    if (pending !== undefined) await pending;
  }
  await program.finish?.();
  return performance.now() - start;
}

/** Runs until the program is warm; returns the number of runs that make a sample. */
export async function warmUp(program: Prepared, effort: Effort): Promise<number> {
  let runs = 0;
  let count = 1;
  const start = performance.now();
  for (;;) {
    const ms = await timeRuns(program, count);
    runs += count;
    const warm = runs >= effort.warmUpRuns && performance.now() - start >= effort.warmUpMs;
    if (warm && ms >= effort.sampleMs) return count;
    if (ms < effort.sampleMs) count = nextCount(count, ms, effort.sampleMs);
  }
}

/** Runs for a sample, from the time that fewer took. */
function nextCount(count: number, ms: number, sampleMs: number): number {
  const wanted = Math.ceil((1.1 * count * sampleMs) / Math.max(ms, sampleMs / 8));
  return Math.max(count + 1, wanted);
}

/** A warm program and how many runs make a sample of it. */
export interface Contender {
  readonly program: Prepared;
  readonly count: number;
}

/** One sample, in µs a run. */
async function takeSample({ program, count }: Contender): Promise<number> {
  // Not counted: wakes threads and brings data back into the caches.
  await timeRuns(program, 1);
  return (1000 * (await timeRuns(program, count))) / count;
}

/**
 * Samples of all contenders, one array for each in their order. One that throws is given to `onError` and
 * takes no further part.
 */
export async function alternate(
  contenders: readonly Contender[],
  effort: Effort,
  onError: (index: number, error: unknown) => void,
): Promise<number[][]> {
  const samples = contenders.map((): number[] => []);
  const out = new Set<number>();
  for (let round = 0; round < effort.rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const index = (round + turn) % contenders.length;
      if (out.has(index)) continue;
      if (contenders.length > 1) await sleep(PAUSE_MS);
      try {
        samples[index]!.push(await takeSample(contenders[index]!));
      } catch (error) {
        out.add(index);
        onError(index, error);
      }
    }
  }
  return samples;
}
