import { type FusedKernel, printSchedule } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { cpuBackend } from '../src/index.js';
import { matmul } from './matmul-kernel.js';

describe('what code for the CPU tells of its schedule', () => {
  const told = (kernel: FusedKernel): string =>
    printSchedule(cpuBackend.generate(kernel).schedule!());

  it('is the blocks of a product', () => {
    expect(told(matmul({ m: 300, n: 200, k: 500 }).kernel)).toMatchInlineSnapshot(`
      "scheduled matmul
        tile of registers: 4 rows × 2 vectors
        block of B: 252 × 200
        rows of a work item: 40
        work items: 8 × 1 of each batch"
    `);
  });

  it('is how vectors lie in a product with few rows', () => {
    expect(told(matmul({ m: 1, n: 200, k: 500 }).kernel)).toMatchInlineSnapshot(`
      "scheduled matmul
        lanes of a vector: along columns
        columns of a work item: 128
        work items: 2"
    `);
  });
});
