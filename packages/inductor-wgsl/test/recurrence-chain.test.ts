/**
 * Recurrences of any width, chains of launches, on the device against the interpreter.
 */
import { type LoopKernel, recurrenceChain, verifyKernel } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { BASELINE_TARGET, generateKernel, type WgslTarget } from '../src/index.js';
import { openGpu } from './support/open-gpu.js';
import { recurrenceKernel } from './support/recurrence-kernel.js';
import { compareKernel } from './support/run-kernel.js';
import { wave, zeros } from './support/sample-kernels.js';

const gpu = await openGpu();

const SOFTWARE: WgslTarget = { ...BASELINE_TARGET, software: true };
/** A narrow workgroup of little memory: sums come together a few at a time. */
const SMALL: WgslTarget = { ...BASELINE_TARGET, maxWorkgroupThreads: 32, maxWorkgroupBytes: 512 };
/** Few workgroups keep it busy, so each has as many rows as fit. */
const TINY: WgslTarget = { ...BASELINE_TARGET, parallelism: 1 };

describe.skipIf(gpu === null)('chains of recurrences on the device', () => {
  it.each([
    ['one row', 136, 1, 3, BASELINE_TARGET],
    ['an odd number of units', 161, 2, 3, BASELINE_TARGET],
    ['rows that share weights', 136, 16, 2, TINY],
    ['rows that are not full', 140, 19, 2, TINY],
    ['sums a few at a time', 141, 3, 3, { ...SMALL, parallelism: 1 }],
    ['no steps', 136, 2, 0, BASELINE_TARGET],
    ['a single step', 136, 2, 1, BASELINE_TARGET],
    ['software that runs threads in turn', 141, 5, 4, SOFTWARE],
  ] as const)('%s', async (_, units, rows, steps, target) => {
    const row = rows * units;
    await compareKernel(
      gpu!,
      recurrenceKernel(rows, steps, units),
      {
        first: wave(row),
        given: wave(Math.max(1, steps) * row, 3),
        weights: wave(3 * units * units, 5).map((x) => x / units),
        out: zeros(Math.max(1, steps) * row),
        last: zeros(row),
      },
      [],
      5,
      { target },
    );
  });
});

describe('chains of recurrences', () => {
  it('bind no more than the recurrence and the memory between launches', () => {
    const kernel = recurrenceKernel(2, 3, 512);
    const { kernels, times } = recurrenceChain([kernel])!;
    for (const part of kernels) if (part.kind === 'loop') verifyKernel(part as LoopKernel);
    expect(times).toEqual([undefined, 3]);
    const names = kernels.map(({ params }) => params.map(({ name }) => name));
    expect(names).toEqual([
      ['first', 'carried'],
      ['given', 'weights', 'out', 'carried'],
      ['last', 'carried'],
    ]);
  });

  it('stay within default limits at any width and any number of rows', () => {
    for (const units of [160, 512, 1024, 5000])
      for (const rows of [1, 7, 64, 1000]) {
        const { text } = generateKernel(recurrenceKernel(rows, 3, units), BASELINE_TARGET);
        const shared = [...text.matchAll(/var<workgroup> \w+: array<f32, (\d+)>/g)];
        const bytes = shared.reduce((sum, [, count]) => sum + 4 * Number(count), 0);
        expect(bytes).toBeLessThanOrEqual(BASELINE_TARGET.maxWorkgroupBytes);
        const [, threads] = /@workgroup_size\((\d+)\)/.exec(text)!;
        expect(Number(threads)).toBeLessThanOrEqual(256);
      }
  });
});
