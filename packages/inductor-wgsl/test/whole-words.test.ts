/**
 * @file Products with packed weights of 4 bits take whole words: in the schedule, in code and on the device.
 */
import { type LoopKernel, scheduleThreads } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateKernel } from '../src/codegen/generate.js';
import { scheduleTarget } from '../src/codegen/target.js';
import type { WgslTarget } from '../src/index.js';
import { openGpu } from './support/open-gpu.js';
import {
  CARD,
  describeOnDevice,
  expectScheduled,
  loadsOf,
  packedWords,
} from './support/packed-words.js';
import { rowTimesWords, wave } from './support/sample-kernels.js';

const gpu = await openGpu();

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

const dataOf = (columns: number, length: number, group: number): Record<string, number[]> => ({
  x: wave(length),
  words: packedWords((columns * length) / 8),
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
    expect(lastSize(kernel, CARD)).toBe(4);
    expectScheduled(kernel, () => dataOf(columns, length, group));
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
    // Two words of each of two columns, and what the row is there.
    expect(loadsOf(text, 'words_')).toBe(2);
    expect(loadsOf(text, 'x')).toBe(4);
  });

  it('are one to a scale where groups have a word each', () => {
    const { text } = generateKernel(rowTimesWords(16, 64, 8), CARD);
    expect(loadsOf(text, 'words_')).toBeGreaterThan(0);
    expect(loadsOf(text, 'scales_')).toBe(loadsOf(text, 'words_'));
  });

  it('are left alone on software', () => {
    expect(lastSize(rowTimesWords(64, 256), { ...CARD, software: true })).toBe(8);
  });
});

describeOnDevice(
  'whole words',
  gpu,
  SHAPES.map(([columns, length, group]) => ({
    name: `${columns} columns of ${length}`,
    kernel: rowTimesWords(columns, length, group),
    data: dataOf(columns, length, group),
  })),
);
