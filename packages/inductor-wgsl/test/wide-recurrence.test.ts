/**
 * Recurrences of any width on the device against the interpreter.
 */
import { describe, expect, it } from 'vitest';
import { BASELINE_TARGET, generateKernel, type WgslTarget } from '../src/index.js';
import { openGpu } from './support/open-gpu.js';
import { recurrenceKernel } from './support/recurrence-kernel.js';
import { compareKernel } from './support/run-kernel.js';
import { wave, zeros } from './support/sample-kernels.js';

const gpu = await openGpu();

const ROWS = 2;
const STEPS = 3;

/** A narrow workgroup of little memory: more slices than one, and a last one that is not full. */
const SMALL: WgslTarget = { ...BASELINE_TARGET, maxWorkgroupThreads: 32, maxWorkgroupBytes: 512 };

describe.skipIf(gpu === null)('wide recurrences on the device', () => {
  it.each([
    ['a unit for each thread', 132, BASELINE_TARGET],
    ['an odd number of units', 161, BASELINE_TARGET],
    ['two units for each thread', 300, BASELINE_TARGET],
    ['threads with a unit less', 301, BASELINE_TARGET],
    ['vectors in slices', 160, SMALL],
    ['slices and threads that are not full', 141, SMALL],
  ] as const)('%s', async (_, units, target) => {
    const row = ROWS * units;
    await compareKernel(
      gpu!,
      recurrenceKernel(ROWS, STEPS, units),
      {
        first: wave(row),
        given: wave(STEPS * row, 3),
        weights: wave(3 * units * units, 5).map((x) => x / units),
        out: zeros(STEPS * row),
        last: zeros(row),
      },
      [],
      5,
      { generate: (kernel, variant) => generateKernel(kernel, target, variant) },
    );
  });
});

describe('code of wide recurrences', () => {
  it('stays within default limits at any width, and is no longer for wider ones', () => {
    const lengths = [160, 512, 1024, 5000].map((units) => {
      const { text } = generateKernel(recurrenceKernel(ROWS, STEPS, units), BASELINE_TARGET);
      const shared = [...text.matchAll(/var<workgroup> \w+: array<f32, (\d+)>/g)];
      const bytes = shared.reduce((sum, [, count]) => sum + 4 * Number(count), 0);
      expect(bytes).toBeLessThanOrEqual(BASELINE_TARGET.maxWorkgroupBytes);
      const [, threads] = /@workgroup_size\((\d+)\)/.exec(text)!;
      expect(Number(threads)).toBeLessThanOrEqual(256);
      return text.length;
    });
    expect(Math.max(...lengths) / Math.min(...lengths)).toBeLessThan(1.1);
  });
});
