/** @file Recurrences against the interpreter, and their text. */
import {
  IrBuilder,
  kernelAt,
  printSchedule,
  type RecurrenceKernel,
  scheduleRecurrence,
  verifyKernel,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { cpuBackend } from '../src/index.js';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { CPU_TARGET } from '../src/loops/cpu-target.js';
import { generateRecurrence } from '../src/recurrence/recurrence.js';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { expectAsInterpreted } from './interpret-schedule.js';
import { recurrence } from './recurrence-kernel.js';
import { expectSameAtAllSizes, symbols } from './symbolic-kernel.js';

const ROUNDING: Partial<Record<DType, number>> = { float64: 1e-12, float16: 2e-3, bfloat16: 2e-2 };

describe('recurrences', () => {
  describe.each(['vectors', 'rows'] as const)('with weights in %s', (layout) => {
    it.each([1, 2, 3, 4, 5, 8, 11, 16])('of %i units are as interpreted at any size', (units) => {
      const [rows, steps] = symbols(2, units === 8 ? 64 : 5) as [never, never];
      const { kernel, counts } = recurrence(rows, steps, units, 'float32', layout);
      const values = [
        [2, 2],
        [3, 5],
        [4, 3],
        [7, 4],
        [64, 2],
      ];
      for (const relaxedSimd of hasRelaxedSimd() ? [false, true] : [false])
        expectSameAtAllSizes(kernel, { counts, symbols: [rows, steps], values, relaxedSimd });
    });
  });

  it.each(['float64', 'float16', 'bfloat16'] as const)('of %s are as interpreted', (dtype) => {
    for (const units of [3, 8]) {
      const [rows, steps] = symbols(2) as [never, never];
      const { kernel, counts } = recurrence(rows, steps, units, dtype);
      const values = [[5, 3]];
      expectSameAtAllSizes(kernel, {
        counts,
        symbols: [rows, steps],
        values,
        tolerance: ROUNDING[dtype]!,
      });
    }
  });

  it('of one row, and of one step, are as interpreted', () => {
    for (const [rows, steps] of [
      [1, 6],
      [6, 1],
      [1, 1],
    ] as const) {
      const { kernel, counts } = recurrence(rows, steps, 6);
      expectSameAtAllSizes(kernel, { counts, symbols: [], values: [[]] });
    }
  });

  it('have the code that is recorded', async () => {
    const { kernel } = recurrence(32, 10, 8);
    verifyKernel(kernelAt(kernel, Number));
    const code = generateRecurrence(kernel, { relaxedSimd: false });
    const facts = `;; ${String(code.workItems)} work items, ${code.scratchBytesPerThread} bytes of scratch`;
    await expect(`${facts}\n${printFunctionWithDependencies(code.func)}\n`).toMatchFileSnapshot(
      './golden/recurrence.wat',
    );
  });

  it.each([1, 3, 8])('of %i units are scheduled as what they are', (units) => {
    for (const [rows, steps] of [
      [1, 3],
      [7, 2],
      [40, 1],
    ] as const) {
      const { kernel, counts } = recurrence(rows, steps, units);
      const fused = kernelAt(kernel, Number) as RecurrenceKernel;
      expectAsInterpreted(fused, scheduleRecurrence(fused, CPU_TARGET), counts);
    }
  });

  it('whose states take turns are as interpreted', () => {
    const { kernel, counts } = recurrence(5, 3, 6);
    const { states } = kernel;
    const e = new IrBuilder();
    const next = [1, 0].map((s) => e.op('mul', [e.acc('float32', s), e.const('float32', 0.5)]));
    const turned = { ...kernel, states: states.map((state, s) => ({ ...state, next: next[s]! })) };
    const fused = kernelAt(turned, Number) as RecurrenceKernel;
    expectAsInterpreted(fused, scheduleRecurrence(fused, CPU_TARGET), counts);
    expectSameAtAllSizes(turned, { counts, symbols: [], values: [[]] });
  });

  it('tell what was chosen', async () => {
    const kernel = kernelAt(recurrence(32, 10, 8).kernel, Number);
    await expect(`${printSchedule(cpuBackend.generate(kernel).schedule!())}\n`).toMatchFileSnapshot(
      './golden/recurrence.schedule.txt',
    );
  });

  it('keep what they need of a row in scratch memory, whatever the number of steps', () => {
    const bytes = (steps: number): number =>
      generateRecurrence(recurrence(4, steps, 8).kernel, { relaxedSimd: false })
        .scratchBytesPerThread;
    // Two states, two vectors and two products of eight units in each of four rows.
    expect(bytes(10)).toBe(4 * 6 * 8 * 4);
    expect(bytes(1000)).toBe(bytes(10));
  });
});
