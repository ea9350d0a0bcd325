/** @file Attention in blocks against the interpreter, and its text. */
import { kernelAt, printSchedule, verifyKernel } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { generateAttention } from '../src/attention/generate-attention.js';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { cpuBackend, useBlockedAttention } from '../src/index.js';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { type AttentionCase, type AttentionSpec, forward, gradients } from './attention-kernel.js';
import { expectSameAtAllSizes, symbols } from './symbolic-kernel.js';

const ROUNDING: Partial<Record<DType, number>> = { float64: 1e-12, float16: 4e-3, bfloat16: 4e-2 };
/** Rows and columns below, at and above those of tiles and vectors. */
const VALUES = [
  [2, 2],
  [3, 5],
  [9, 8],
  [17, 31],
  [40, 24],
];
/** Below, at and above blocks. */
const LONG = [
  [129, 70],
  [70, 300],
];

type Kind = (spec: AttentionSpec) => AttentionCase;
const KINDS: readonly [name: string, make: Kind][] = [
  ['forward', forward],
  ['gradients', gradients],
];

beforeAll(() => useBlockedAttention());

describe.each(KINDS)('attention: %s', (name, make) => {
  const check = (
    spec: Omit<AttentionSpec, 'rows' | 'columns'>,
    values: readonly (readonly number[])[],
  ): void => {
    const [rows, columns] = symbols(2, 40, 40) as [never, never];
    const { kernel, counts } = make({ ...spec, rows, columns });
    const tolerance = ROUNDING[spec.dtype ?? 'float32'] ?? 1e-4;
    for (const relaxedSimd of hasRelaxedSimd() ? [false, true] : [false])
      expectSameAtAllSizes(kernel, {
        counts,
        symbols: [rows, columns],
        values,
        tolerance,
        relaxedSimd,
      });
  };

  it.each([false, true])('is as interpreted at any size, causal: %s', (isCausal) => {
    check({ batch: 2, width: 8, isCausal }, VALUES);
    check({ batch: 1, width: 4, isCausal }, LONG);
  });

  it.each([4, 12, 20])('is as interpreted for heads of width %i', (width) => {
    check({ batch: 2, width }, [[11, 9]]);
  });

  it.each(['float64', 'float16', 'bfloat16'] as const)('is as interpreted in %s', (dtype) => {
    check({ batch: 2, width: 8, dtype, isCausal: true }, [[19, 13]]);
  });

  it('is as interpreted at sizes that are known', () => {
    for (const [rows, columns] of [...VALUES, ...LONG]) {
      const { kernel, counts } = make({
        batch: 1,
        rows: rows!,
        columns: columns!,
        width: 4,
        isCausal: true,
      });
      expectSameAtAllSizes(kernel, { counts, symbols: [], values: [[]], tolerance: 1e-4 });
    }
  });

  it('has the code that is recorded', async () => {
    const { kernel } = make({ batch: 2, rows: 40, columns: 24, width: 8 });
    verifyKernel(kernelAt(kernel, Number));
    const code = generateAttention(kernel, { relaxedSimd: false });
    const facts = `;; ${String(code.workItems)} work items, ${code.scratchBytesPerThread} bytes of scratch`;
    await expect(`${facts}\n${printFunctionWithDependencies(code.func)}\n`).toMatchFileSnapshot(
      `./golden/attention_${name}.wat`,
    );
  });

  it('needs as much scratch memory for any length', () => {
    const bytes = (length: number): number =>
      generateAttention(make({ batch: 2, rows: length, columns: length, width: 64 }).kernel, {
        relaxedSimd: false,
      }).scratchBytesPerThread;
    expect(bytes(8192)).toBe(bytes(1024));
    expect(bytes(8192)).toBeLessThan(1 << 20);
  });
});

describe('attention', () => {
  it('weighs nothing in rows whose logits are all -∞', () => {
    const { kernel, counts } = forward({ batch: 1, rows: 9, columns: 12, width: 4 });
    const fill = (name: string, i: number): number | undefined =>
      name === 'bias' && Math.floor(i / 12) % 2 === 1 ? -Infinity : undefined;
    expectSameAtAllSizes(kernel, { counts, symbols: [], values: [[]], fill });
  });

  it('sums columns of heads that share rows', () => {
    for (const isCausal of [false, true]) {
      const spec = { batch: 2, rows: 18, columns: 13, width: 4, turns: 3, isCausal };
      const { kernel, counts } = gradients(spec);
      expectSameAtAllSizes(kernel, { counts, symbols: [], values: [[]], tolerance: 1e-4 });
    }
  });

  it('tells what was chosen', () => {
    const kernel = kernelAt(
      forward({ batch: 2, rows: 512, columns: 512, width: 64 }).kernel,
      Number,
    );
    expect(printSchedule(cpuBackend.generate(kernel).schedule!())).toMatchInlineSnapshot(`
      "scheduled attention
        rows of a block: 128
        rows of a work item: a block
        columns of a block: 256
        columns that are read: all
        scratch memory of a thread: 250944 bytes"
    `);
  });

  it('refuses several softmaxes, and column sums of a lower triangle', () => {
    const { kernel } = forward({ batch: 1, rows: 8, columns: 8, width: 4 });
    const { weights, values } = kernel;
    const twice = { ...kernel, weights: [...weights, ...weights], values: [...values, ...values] };
    expect(() => generateAttention(twice, { relaxedSimd: false })).toThrow('several softmaxes');
    const summed = gradients({ batch: 1, rows: 8, columns: 8, width: 4, isCausal: true }).kernel;
    expect(() =>
      generateAttention({ ...summed, triangle: 'lower' }, { relaxedSimd: false }),
    ).toThrow('sums of columns');
  });
});
