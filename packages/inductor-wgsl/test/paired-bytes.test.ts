/**
 * @file Products with packed weights of 8 bits take two words, of two columns, at a step: in the schedule, in code and on the
 * device.
 */
import { describe, expect, it } from 'vitest';
import { generateKernel } from '../src/codegen/generate.js';
import { openGpu } from './support/open-gpu.js';
import {
  CARD,
  describeOnDevice,
  expectScheduled,
  loadsOf,
  packedWords,
} from './support/packed-words.js';
import { rowTimesBytes, wave } from './support/sample-kernels.js';

const gpu = await openGpu();

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
  words: packedWords((columns * length) / 4),
  scales: wave(columns, 5),
  out: wave(columns),
});

describe('bytes of words', () => {
  it.each(SHAPES)('are summed: %i columns of %i', (columns, length) => {
    expectScheduled(rowTimesBytes(columns, length), () => dataOf(columns, length));
  });

  it('come from pairs of words, of two columns for one row', () => {
    const { text } = generateKernel(rowTimesBytes(64, 512), CARD);
    expect(text).toContain('words_: array<vec2<i32>>');
    expect(loadsOf(text, 'words_')).toBe(2);
    expect(loadsOf(text, 'x')).toBe(2);
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

describeOnDevice(
  'bytes of words',
  gpu,
  SHAPES.map(([columns, length]) => ({
    name: `${columns} columns of ${length}`,
    kernel: rowTimesBytes(columns, length),
    data: dataOf(columns, length),
  })),
);
