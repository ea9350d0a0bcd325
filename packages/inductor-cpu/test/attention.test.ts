/** @file Attention in blocks against the interpreter, and its text. */
import { kernelAt, printSchedule, verifyKernel } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { generateAttention } from '../src/attention/use-blocked-attention.js';
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
        variable b0: 2
        variable n0: 64
        variable k0: 64
        variable row: 512
        variable down: 128
        variable first: 512
        variable along: 256
        variable element: 64
        grid item: 8, about 419431 ns each
        scratch scores.0: f32[34816]
        scratch sums.0: f32[10240]
        scratch peaks.: f32[128]
        scratch totals.: f32[128]
        scratch columns.: f32[17424]
        accumulator peak: peak of f32 gives acc0: f32
        accumulator sum: sum of f32 gives acc1: f32
        product score0: tiles of 4 × 2 vectors to scores.0, rows 272 apart
          t0: f32 = q[32768*b0 + 64*m0 + k0]
          a = t0: in place
          t0: f32 = k[32768*b0 + 64*j1 + k0]
          b = t0: rows along transposed in columns., up to 256 × 64
        product value0: tiles of 4 × 2 vectors to sums.0, rows 80 apart
          a: scores.0, 272 and 1 apart
          t0: f32 = v[32768*b0 + 64*j1 + n0]
          b = t0: panels in columns., up to 64 × 256
        routine begin(rows)
          loop down from 0 to rows
            peaks.[down] = -Infinity
            totals.[down] = 0
            loop element from 0 to 64 by 8
              vector element + 0..3 × 2
                sums.0[80*down + element] = 0
        routine weigh(batch, row, rows, turn, first, cols)
          let b0 = batch
          loop down from 0 to rows
            let m0 = row + down
            start peak
            let along.8 = (cols div 8)*8
            let along.4 = (cols div 4)*4
            loop along from 0 to along.8 by 8
              vector along + 0..3 × 2
                let j1 = first + along
                t1: f32 = scores.0[272*down + along]
                t2: f32 = t1 * 0.25
                t3: f32 = bias[512*m0 + j1]
                t4: f32 = t2 + t3
                update peak with t4 at along
                scores.0[272*down + along] = t4
            loop along from along.8 to along.4 by 4
              vector along + 0..3
                let j1 = first + along
                t1: f32 = scores.0[272*down + along]
                t2: f32 = t1 * 0.25
                t3: f32 = bias[512*m0 + j1]
                t4: f32 = t2 + t3
                update peak with t4 at along
                scores.0[272*down + along] = t4
            loop along from along.4 to cols
              vector along + 0..3, 1 of 4
                let j1 = first + along
                t1: f32 = scores.0[272*down + along]
                t2: f32 = t1 * 0.25
                t3: f32 = bias[512*m0 + j1]
                t4: f32 = t2 + t3
                update peak with t4 at along
                scores.0[272*down + along] = t4
            part peak
            fold peak
            finish peak
            start sum
            let along.8 = (cols div 8)*8
            let along.4 = (cols div 4)*4
            loop along from 0 to along.8 by 8
              vector along + 0..3 × 2
                t0: f32 = scores.0[272*down + along]
                t1: f32 = peaks.[down]
                t2: f32 = maximum(t1, acc0)
                t3: bool = t2 == -Infinity
                t4: f32 = where(t3, 0, t2)
                t5: f32 = t0 - t4
                t6: f32 = exp(t5)
                update sum with t6 at along
                scores.0[272*down + along] = t6
            loop along from along.8 to along.4 by 4
              vector along + 0..3
                t0: f32 = scores.0[272*down + along]
                t1: f32 = peaks.[down]
                t2: f32 = maximum(t1, acc0)
                t3: bool = t2 == -Infinity
                t4: f32 = where(t3, 0, t2)
                t5: f32 = t0 - t4
                t6: f32 = exp(t5)
                update sum with t6 at along
                scores.0[272*down + along] = t6
            loop along from along.4 to cols
              vector along + 0..3, 1 of 4
                t0: f32 = scores.0[272*down + along]
                t1: f32 = peaks.[down]
                t2: f32 = maximum(t1, acc0)
                t3: bool = t2 == -Infinity
                t4: f32 = where(t3, 0, t2)
                t5: f32 = t0 - t4
                t6: f32 = exp(t5)
                update sum with t6 at along
                scores.0[272*down + along] = t6
            part sum
            fold sum
            finish sum
            loop element from 0 to 64 by 8
              vector element + 0..3 × 2
                t0: f32 = sums.0[80*down + element]
                t1: f32 = peaks.[down]
                t2: f32 = maximum(t1, acc0)
                t3: bool = t2 == -Infinity
                t4: f32 = where(t3, 0, t2)
                t5: f32 = t1 - t4
                t6: f32 = exp(t5)
                t7: f32 = t0 * t6
                sums.0[80*down + element] = t7
            t84: f32 = totals.[down]
            t85: f32 = peaks.[down]
            t86: f32 = maximum(t85, acc0)
            t87: bool = t86 == -Infinity
            t88: f32 = where(t87, 0, t86)
            t89: f32 = t85 - t88
            t90: f32 = exp(t89)
            t91: f32 = t84 * t90
            t92: f32 = t91 + acc1
            totals.[down] = t92
            peaks.[down] = t86
        routine finish(batch, row, rows)
          let b0 = batch
          loop down from 0 to rows
            let m0 = row + down
            loop n0 from 0 to 64 by 8
              vector n0 + 0..3 × 2
                t0: f32 = sums.0[80*down + n0]
                t1: f32 = totals.[down]
                t2: bool = t1 == 0
                t3: f32 = where(t2, 1, t1)
                t4: f32 = t0 / t3
                out[32768*b0 + 64*m0 + n0] = t4
            t9: f32 = peaks.[down]
            t10: bool = t9 == -Infinity
            t11: f32 = totals.[down]
            t12: f32 = log(t11)
            t13: f32 = t9 + t12
            t14: f32 = where(t10, t9, t13)
            sums[512*b0 + m0] = t14
        let batch = item div 4
        let b0 = batch
        let block = item mod 4
        let row = block*128
        let rows = 512 + row*-1 at most 128
        begin(rows)
        pack a of score0: lines row + rows, steps 0 + 64 of batch
        let start = 0
        let stop = 512
        loop turn from 0 to 1
          loop first from start to stop by 256
            let col = turn*512 + first
            let cols = stop + first*-1 at most 256
            pack b of score0: lines col + cols, steps 0 + 64 of batch
            multiply score0[0..]: rows × cols, 64 steps
            weigh(batch, row, rows, turn, first, cols)
            pack b of value0: lines 0 + 64, steps col + cols of batch
            add value0[0..]: rows × 64, cols steps
        finish(batch, row, rows)"
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
