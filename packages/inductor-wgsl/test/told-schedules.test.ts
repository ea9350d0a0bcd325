import {
  printSchedule,
  printScheduled,
  scheduleAttention,
  scheduleProduct,
  scheduleThreads,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { scheduleTarget } from '../src/codegen/target.js';
import {
  BASELINE_TARGET,
  generateKernel,
  useSubgroupMatrices,
  type WgslTarget,
} from '../src/index.js';
import { forwardAttention } from './support/attention-kernel.js';
import { matmulKernel } from './support/matmul-kernel.js';
import { recurrenceKernel } from './support/recurrence-kernel.js';
import { softmax } from './support/sample-kernels.js';

useSubgroupMatrices();

/** What Dawn says of NVIDIA's cards. */
const MATRICES: WgslTarget = {
  ...BASELINE_TARGET,
  f16: true,
  subgroups: { min: 32, max: 32 },
  matrices: { m: 16, n: 16, k: 16 },
  maxWorkgroupBytes: 49152,
};

describe('what programs tell of their schedules', () => {
  const told = (
    kernel: Parameters<typeof generateKernel>[0],
    target: WgslTarget = BASELINE_TARGET,
  ): string => printSchedule(generateKernel(kernel, target).schedule!());

  it('is the scheduled kernel that they spell', () => {
    const kernel = softmax(64, 100);
    const scheduled = scheduleThreads(kernel, scheduleTarget(BASELINE_TARGET));
    expect(told(kernel)).toBe(printScheduled(scheduled));
    expect(told(kernel)).toMatch(/^scheduled softmax\n {2}grid group: 4\n/);
  });

  it('is that of the reduction that a product with a vector is', () => {
    expect(told(matmulKernel({ m: 1, n: 64, k: 512 }))).toMatch(
      /^scheduled matmul\n {2}grid [^]*accumulator sum.0: sum of f32/,
    );
  });

  it('is the scheduled kernel of a product, which they spell as well', () => {
    const kernel = matmulKernel({ m: 512, n: 512, k: 512 });
    expect(told(kernel)).toBe(
      printScheduled(scheduleProduct(kernel, scheduleTarget(BASELINE_TARGET))),
    );
    expect(told(kernel)).toMatch(/^scheduled matmul\n {2}grid group: 128\n {2}threads lane: 128\n/);
  });

  it('is the tile of a product of subgroup matrices', () => {
    const kernel = matmulKernel({ m: 512, n: 512, k: 512, dtype: 'float16' });
    expect(told(kernel, MATRICES)).toMatchInlineSnapshot(`
      "scheduled matmul
        tile of a workgroup: 32 × 32
        part of a subgroup: 16 × 16
        k at a time: 64
        threads of a workgroup: 128"
    `);
  });

  it('is who has which terms of a recurrence', () => {
    expect(told(recurrenceKernel(4, 92, 96))).toMatchInlineSnapshot(`
      "scheduled recurrence
        a workgroup: all steps of a row
        threads of a workgroup: 96 units × 2 members
        terms of a thread: 2
        weights in registers of a thread: 192"
    `);
    expect(told(recurrenceKernel(4, 92, 512))).toMatchInlineSnapshot(`
      "scheduled recurrence_step
        a launch: a step of all rows
        a workgroup: 8 units of 2 rows
        threads of a workgroup: 8 units × 32 members"
    `);
  });

  it('is the scheduled kernel of attention in tiles, or the tile of matrices', () => {
    const shape = { batch: 2, m: 64, j: 64, width: 64 };
    const kernel = forwardAttention(shape);
    expect(told(kernel)).toBe(
      printScheduled(scheduleAttention(kernel, scheduleTarget(BASELINE_TARGET))),
    );
    expect(told(kernel)).toMatch(/^scheduled attention\n {2}grid group: 8\n {2}threads lane: 64\n/);
    const half = forwardAttention({ ...shape, half: true });
    expect(told(half, MATRICES)).toMatchInlineSnapshot(`
      "scheduled attention
        tile of a workgroup: 32 × 32
        part of a thread: 4 × 4
        k at a time: 32
        threads of a workgroup: 64
        rows of a subgroup: 16"
    `);
  });
});
