/**
 * Reductions whose points share operands: several points for each group of threads.
 */
import {
  interpretKernel,
  interpretScheduled,
  type LoopKernel,
  scheduleThreads,
  type ScheduledKernel,
  verifyScheduled,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateKernel } from '../src/codegen/generate.js';
import { scheduleTarget } from '../src/codegen/target.js';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import { openGpu } from './support/open-gpu.js';
import { compareKernel } from './support/run-kernel.js';
import {
  reduceMatrix,
  rowTimesMatrices,
  rowTimesWords,
  softmax,
  wave,
} from './support/sample-kernels.js';

const gpu = await openGpu();

/** A device that so few threads fill that small matrices are cut as large ones are. */
const SMALL = { parallelism: 1 / 256 };
const CARD: WgslTarget = {
  ...BASELINE_TARGET,
  ...SMALL,
  subgroups: { min: 32, max: 32 },
  maxWorkgroupThreads: 1024,
  maxWorkgroupBytes: 49152,
};

/** Columns and length, with the points that threads take together. */
const SHAPES = [
  [64, 256, 4],
  [36, 4096, 4],
  [18, 100, 2],
  [15, 64, 1],
  [8, 30, 4],
] as const;

const dataOf = (columns: number, length: number): Record<string, number[]> => ({
  x: wave(length),
  a: wave(columns * length, 11),
  b: wave(columns * length, 13),
  out: wave(columns, 3),
});

const WORDS = [
  [64, 256, 32, 4],
  [18, 96, 32, 2],
  [8, 2048, 64, 4],
  [15, 64, 8, 1],
] as const;

/** Words of all bits: those with the highest set are below zero. */
const wordsOf = (columns: number, length: number, group: number): Record<string, number[]> => ({
  x: wave(length),
  words: Array.from({ length: (columns * length) / 8 }, (_, i) => Math.imul(i + 1, 0x9e3779b1)),
  scales: wave((2 * columns * length) / group, 5),
  out: wave(columns),
});

/** Points of the kernel for each of those that are scheduled. */
function together(kernel: LoopKernel, scheduled: ScheduledKernel): number {
  const { kernel: used } = scheduled as { kernel: LoopKernel };
  return kernel.outer.at(-1)!.size / used.outer.at(-1)!.size;
}

describe('points that share operands', () => {
  it.each(SHAPES)('are together: %i columns of %i', (columns, length, points) => {
    const kernel = rowTimesMatrices(columns, length);
    const scheduled = scheduleThreads(kernel, scheduleTarget(CARD));
    expect(together(kernel, scheduled)).toBe(points);
    verifyScheduled(scheduled);
    // What does not depend on the column is summed once.
    expect(scheduled.accumulators.length).toBe(2 * points + 1);
    const [wanted, got] = [dataOf(columns, length), dataOf(columns, length)];
    interpretKernel(kernel, wanted);
    interpretScheduled(scheduled, { buffers: got, subgroupSize: 32 });
    for (const [i, value] of wanted['out']!.entries()) expect(got['out']![i]).toBeCloseTo(value, 3);
  });

  it('read what they share once', () => {
    const { text } = generateKernel(rowTimesMatrices(64, 1024), CARD);
    const loads = (name: string): number => text.split(`= ${name}[`).length - 1;
    expect(loads('a')).toBe(4 * loads('x'));
  });

  it.each(WORDS)('take whole words: %i columns of %i', (columns, length, group, points) => {
    const kernel = rowTimesWords(columns, length, group);
    const scheduled = scheduleThreads(kernel, scheduleTarget(CARD));
    expect(together(kernel, scheduled)).toBe(points);
    expect((scheduled.kernel as LoopKernel).inner.at(-1)!.size).toBe(4);
    verifyScheduled(scheduled);
    const [wanted, got] = [0, 1].map(() => wordsOf(columns, length, group));
    interpretKernel(kernel, wanted!);
    interpretScheduled(scheduled, { buffers: got!, subgroupSize: 32 });
    for (const [i, value] of wanted!['out']!.entries())
      expect(Math.abs(got!['out']![i]! - value)).toBeLessThan(1e-4 * (1 + Math.abs(value)));
  });

  it('load a word once', () => {
    const { text } = generateKernel(rowTimesWords(64, 512), CARD);
    expect(text.split(' = words[').length).toBe(text.split(' = scales[').length / 2 + 0.5);
  });

  it('stay apart where the device has too few of them, on software, and in other kernels', () => {
    const alone = (kernel: LoopKernel, target: WgslTarget): boolean =>
      together(kernel, scheduleThreads(kernel, scheduleTarget(target))) === 1;
    expect(alone(rowTimesMatrices(64, 256), { ...CARD, parallelism: 256 })).toBe(true);
    expect(alone(rowTimesMatrices(64, 256), { ...CARD, software: true })).toBe(true);
    expect(alone(reduceMatrix('sum', 'rows', 64, 256), CARD)).toBe(true);
    expect(alone(reduceMatrix('sum', 'columns', 256, 64), CARD)).toBe(true);
    expect(alone(softmax(64, 256), CARD)).toBe(true);
  });
});

describe.skipIf(gpu === null)('points that share operands on the device', () => {
  const own = gpu?.backend.target ?? BASELINE_TARGET;
  const targets: readonly (readonly [string, WgslTarget])[] = [
    ['without subgroups', { ...BASELINE_TARGET, ...SMALL, f16: own.f16 }],
    ['with subgroups', { ...own, ...SMALL, software: false }],
  ];
  for (const [name, target] of targets)
    for (const dtype of ['float16', 'float32'] as const)
      it.each(SHAPES)(`${name}, ${dtype}: %i columns of %i`, async (columns, length) => {
        const kernel = rowTimesMatrices(columns, length, dtype);
        await compareKernel(gpu!, kernel, dataOf(columns, length), [], 40, {
          generate: (given, variant = directVariant(given.params.length)) =>
            generateKernel(given, target, variant),
        });
      });
  for (const [name, target] of targets)
    it.each(WORDS)(`${name}, words: %i columns of %i`, async (columns, length, group) => {
      const kernel = rowTimesWords(columns, length, group);
      await compareKernel(gpu!, kernel, wordsOf(columns, length, group), [], 40, {
        generate: (given, variant = directVariant(given.params.length)) =>
          generateKernel(given, target, variant),
      });
    });
});
