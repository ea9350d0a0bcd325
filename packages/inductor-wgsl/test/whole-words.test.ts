/**
 * Products with packed weights of 4 bits take whole words: in the schedule, in code and on the device.
 */
import {
  interpretKernel,
  interpretScheduled,
  type LoopKernel,
  scheduleThreads,
  verifyKernel,
  verifyScheduled,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateKernel } from '../src/codegen/generate.js';
import { scheduleTarget } from '../src/codegen/target.js';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import { openGpu } from './support/open-gpu.js';
import { compareKernel } from './support/run-kernel.js';
import { rowTimesWords, wave } from './support/sample-kernels.js';

const gpu = await openGpu();

const CARD: WgslTarget = {
  ...BASELINE_TARGET,
  subgroups: { min: 32, max: 32 },
  maxWorkgroupThreads: 1024,
  maxWorkgroupBytes: 49152,
};

/** Columns, length, and how many elements share a scale. */
const SHAPES = [
  [64, 256, 32],
  [18, 96, 32],
  [8, 2048, 64],
  [15, 64, 8],
  [4, 8, 8],
  [4, 16, 8],
  [6, 8192, 64],
] as const;

/** Words of all bits: those with the highest set are below zero. */
const dataOf = (columns: number, length: number, group: number): Record<string, number[]> => ({
  x: wave(length),
  words: Array.from({ length: (columns * length) / 8 }, (_, i) => Math.imul(i + 1, 0x9e3779b1)),
  scales: wave((2 * columns * length) / group, 5),
  out: wave(columns),
});

/** Size of the innermost loop that is scheduled: 4 lanes of a word, or its 8 parts. */
function lastSize(kernel: LoopKernel, target: WgslTarget): unknown {
  const { kernel: used } = scheduleThreads(kernel, scheduleTarget(target));
  return (used as LoopKernel).inner.at(-1)!.size;
}

describe('whole words', () => {
  it.each(SHAPES)('are taken: %i columns of %i', (columns, length, group) => {
    const kernel = rowTimesWords(columns, length, group);
    const scheduled = scheduleThreads(kernel, scheduleTarget(CARD));
    expect(lastSize(kernel, CARD)).toBe(4);
    verifyKernel(scheduled.kernel as LoopKernel);
    verifyScheduled(scheduled);
    const [wanted, got] = [0, 1].map(() => dataOf(columns, length, group));
    interpretKernel(kernel, wanted!);
    interpretScheduled(scheduled, { buffers: got!, subgroupSize: 32 });
    for (const [i, value] of wanted!['out']!.entries())
      expect(Math.abs(got!['out']![i]! - value)).toBeLessThan(1e-4 * (1 + Math.abs(value)));
  });

  it('are loaded once, two with one scale and one zero, which are one access', () => {
    const { text } = generateKernel(rowTimesWords(64, 512), CARD);
    const loads = (name: string): string[] => text.match(new RegExp(`= ${name}\\[.*`, 'g')) ?? [];
    for (const name of ['words_', 'scales_']) {
      expect(loads(name).length).toBeGreaterThan(0);
      expect(text).toContain(`${name}: array<vec2<`);
      expect(new Set(loads(name)).size).toBe(loads(name).length);
    }
    expect(loads('scales_').length).toBe(loads('words_').length);
  });

  it('are of two columns at once where columns come in pairs', () => {
    const columnOf = (columns: number): unknown => {
      const { kernel } = scheduleThreads(rowTimesWords(columns, 512), scheduleTarget(CARD));
      return (kernel as LoopKernel).outer.find(({ name }) => name === 'column')?.size;
    };
    expect([64, 18, 15].map(columnOf)).toEqual([2, 2, undefined]);
    const { text } = generateKernel(rowTimesWords(64, 512), CARD);
    const count = (name: string): number => text.split(`= ${name}[`).length - 1;
    // Two words of each of two columns, and what the row is there.
    expect(count('words_')).toBe(2);
    expect(count('x')).toBe(4);
  });

  it('are one to a scale where groups have a word each', () => {
    const { text } = generateKernel(rowTimesWords(16, 64, 8), CARD);
    const count = (name: string): number => text.split(`= ${name}[`).length - 1;
    expect(count('words_')).toBeGreaterThan(0);
    expect(count('scales_')).toBe(count('words_'));
  });

  it('are left alone on software', () => {
    expect(lastSize(rowTimesWords(64, 256), { ...CARD, software: true })).toBe(8);
  });
});

describe.skipIf(gpu === null)('whole words on the device', () => {
  const own = gpu?.backend.target ?? BASELINE_TARGET;
  const targets: readonly (readonly [string, WgslTarget])[] = [
    ['without subgroups', { ...BASELINE_TARGET, f16: own.f16 }],
    ['with subgroups', { ...own, software: false }],
  ];
  for (const [name, target] of targets)
    it.each(SHAPES)(`${name}: %i columns of %i`, async (columns, length, group) => {
      const kernel = rowTimesWords(columns, length, group);
      await compareKernel(gpu!, kernel, dataOf(columns, length, group), [], 40, {
        generate: (given, variant = directVariant(given.params.length)) =>
          generateKernel(given, target, variant),
      });
    });
});
