/**
 * Products with packed weights of 8 bits take two words, of two columns, at a step: in the schedule, in code and on the
 * device.
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
import { rowTimesBytes, wave } from './support/sample-kernels.js';

const gpu = await openGpu();

const CARD: WgslTarget = {
  ...BASELINE_TARGET,
  subgroups: { min: 32, max: 32 },
  maxWorkgroupThreads: 1024,
  maxWorkgroupBytes: 49152,
};

/** Columns and length: many and few of both, an odd number of columns, of words, and a row of one step. */
const SHAPES = [
  [64, 256],
  [8, 8192],
  [15, 64],
  [6, 20],
  [4, 8],
] as const;

const dataOf = (columns: number, length: number): Record<string, number[]> => ({
  x: wave(length),
  words: Array.from({ length: (columns * length) / 4 }, (_, i) => Math.imul(i + 1, 0x9e3779b1)),
  scales: wave(columns, 5),
  out: wave(columns),
});

describe('bytes of words', () => {
  it.each(SHAPES)('are summed: %i columns of %i', (columns, length) => {
    const kernel = rowTimesBytes(columns, length);
    const scheduled = scheduleThreads(kernel, scheduleTarget(CARD));
    verifyKernel(scheduled.kernel as LoopKernel);
    verifyScheduled(scheduled);
    const [wanted, got] = [0, 1].map(() => dataOf(columns, length));
    interpretKernel(kernel, wanted!);
    interpretScheduled(scheduled, { buffers: got!, subgroupSize: 32 });
    for (const [i, value] of wanted!['out']!.entries())
      expect(Math.abs(got!['out']![i]! - value)).toBeLessThan(1e-4 * (1 + Math.abs(value)));
  });

  it('come from pairs of words, of two columns for one row', () => {
    const { text } = generateKernel(rowTimesBytes(64, 512), CARD);
    const count = (name: string): number => text.split(`= ${name}[`).length - 1;
    expect(text).toContain('words_: array<vec2<i32>>');
    expect(count('words_')).toBe(2);
    expect(count('x')).toBe(2);
  });

  it('are taken as they come where words are odd in number, and on software', () => {
    for (const [length, software] of [
      [20, false],
      [256, true],
    ] as const) {
      const { text } = generateKernel(rowTimesBytes(64, length), { ...CARD, software });
      expect(text).toContain('words_: array<i32>');
    }
  });
});

describe.skipIf(gpu === null)('bytes of words on the device', () => {
  const own = gpu?.backend.target ?? BASELINE_TARGET;
  const targets: readonly (readonly [string, WgslTarget])[] = [
    ['without subgroups', { ...BASELINE_TARGET, f16: own.f16 }],
    ['with subgroups', { ...own, software: false }],
  ];
  for (const [name, target] of targets)
    it.each(SHAPES)(`${name}: %i columns of %i`, async (columns, length) => {
      const kernel = rowTimesBytes(columns, length);
      await compareKernel(gpu!, kernel, dataOf(columns, length), [], 40, {
        generate: (given, variant = directVariant(given.params.length)) =>
          generateKernel(given, target, variant),
      });
    });
});
