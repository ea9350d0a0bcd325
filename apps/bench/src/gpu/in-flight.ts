/**
 * @file Times rounds of a loop on WebGPU: with many in flight, and waiting for the device after each.
 *
 * A GPU that idled runs at a fraction of its clock, so it is kept busy before.
 */
import type { initWebGpu } from '@tessera/compile';
import { counters } from '@tessera/shared';
import { randn } from '@tessera/tensor';
import { summarize } from '../harness/statistics.js';

export type Gpu = Awaited<ReturnType<typeof initWebGpu>>;

/** How many rounds are run. */
export interface Effort {
  readonly warmUp: number;
  /** Rounds of a sample; it ends with a wait for the device. */
  readonly rounds: number;
  readonly samples: number;
  /** Rounds that are waited for, each. */
  readonly awaited: number;
}

/** What rounds took, in µs, and made. */
export interface RoundTimes {
  /** Per round, many in flight. */
  readonly microseconds: number;
  readonly spread: number;
  /** Processor time of the process per round, in all its threads. */
  readonly cpuMicroseconds: number;
  /** Per round, waiting for the device after each. */
  readonly awaitedMicroseconds: number;
  /** Made in all rounds that were timed. */
  readonly made: Readonly<Record<string, number>>;
  readonly rounds: number;
}

function madeSoFar(): Record<string, number> {
  const all = counters.get('wgpu');
  return Object.fromEntries(
    ['buffers_created', 'bind_groups_created', 'copies', 'submits'].map((name) => [
      name,
      all[name] ?? 0,
    ]),
  );
}

/** Times `round`, which gets its number. */
export async function timeRounds(
  gpu: Gpu,
  { warmUp, rounds, samples, awaited }: Effort,
  round: (i: number) => void,
): Promise<RoundTimes> {
  let i = 0;
  const batchOf = async (count: number): Promise<number> => {
    const start = performance.now();
    for (let k = 0; k < count; k++) round(i++);
    await gpu.synchronize();
    return ((performance.now() - start) / count) * 1000;
  };
  await batchOf(warmUp);
  const before = madeSoFar();
  const usage = process.cpuUsage();
  const times: number[] = [];
  for (let s = 0; s < samples; s++) times.push(await batchOf(rounds));
  const { user, system } = process.cpuUsage(usage);
  const after = madeSoFar();
  const alone: number[] = [];
  for (let k = 0; k < awaited; k++) alone.push(await batchOf(1));
  const { median, spread } = summarize(times);
  return {
    microseconds: median,
    spread,
    cpuMicroseconds: (user + system) / (rounds * samples),
    awaitedMicroseconds: summarize(alone).median,
    made: Object.fromEntries(Object.entries(after).map(([key, n]) => [key, n - before[key]!])),
    rounds: rounds * samples,
  };
}

/** Brings the device to its working clock. */
export async function keepBusy(gpu: Gpu, ms: number): Promise<void> {
  if (ms <= 0) return;
  const x = randn([1024, 1024], { device: 'wgpu' });
  for (const end = performance.now() + ms; performance.now() < end; await gpu.synchronize())
    for (let k = 0; k < 50; k++) x.mm(x).dispose();
  x.dispose();
}
