/**
 * Each kind of kernel on the device against the interpreter, over shapes that meet every schedule.
 */
import {
  chooseReductionThreads,
  type LoopKernel,
  type ReduceOp,
  type ReductionThreads,
  scheduleReduction,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { BASELINE_TARGET, generateKernel, type WgslTarget } from '../src/index.js';
import { emitScheduled } from '../src/codegen/scheduled/scheduled-program.js';
import { scheduleTarget } from '../src/codegen/target.js';
import { directVariant } from '../src/codegen/variant.js';
import { openGpu } from './support/open-gpu.js';
import { compareKernel, runOnDevice } from './support/run-kernel.js';
import {
  concatenation,
  dropout,
  embedding,
  layerNorm,
  reduceMatrix,
  rowTimesWords,
  sgdStep,
  siluAdd,
  softmax,
  spatialSum,
  transposedGelu,
  wave,
  zeros,
} from './support/sample-kernels.js';

const gpu = await openGpu();

const REDUCTIONS: readonly ReduceOp[] = [
  'sum',
  'prod',
  'max',
  'min',
  'any',
  'all',
  'argmax',
  'argmin',
  'welford',
  'online_softmax',
];

describe.skipIf(gpu === null)('pointwise kernels on the device', () => {
  it('cover every element, however many there are', async () => {
    for (const n of [0, 1, 2, 3, 4, 5, 255, 1021, 1024, 1027]) {
      await compareKernel(gpu!, siluAdd(n), { x: wave(n), y: wave(n, 3), out: zeros(n) });
    }
  });

  it('read transposed and broadcast operands', async () => {
    for (const [rows, columns] of [
      [5, 7],
      [8, 12],
      [64, 48],
      [1, 9],
      [9, 1],
    ]) {
      const n = rows * columns;
      await compareKernel(
        gpu!,
        transposedGelu(rows, columns),
        { x: wave(n), bias: wave(columns, 3), out: zeros(n) },
        [],
        2,
      );
    }
  });

  it('gather rows', async () => {
    for (const width of [1, 3, 8]) {
      const ids = Array.from({ length: 20 }, (_, i) => (i * 7) % 11);
      await compareKernel(gpu!, embedding(20, width), {
        ids,
        table: wave(11 * width),
        out: zeros(20 * width),
      });
    }
  });

  it('do not use what lies beyond a mask', async () => {
    for (const [first, second] of [
      [3, 5],
      [8, 8],
      [16, 3],
    ]) {
      await compareKernel(gpu!, concatenation(first, second), {
        x: wave(first),
        y: wave(second, 3),
        out: zeros(first + second),
      });
    }
  });

  it('draw the same random numbers as the CPU', async () => {
    for (const [seed, offset] of [
      [24301, 0],
      // The bits of the seed 2³² - 1.
      [-1, 77],
    ]) {
      const n = 301;
      await compareKernel(
        gpu!,
        dropout(n),
        { x: wave(n), out: zeros(n), noise: zeros(n), mask: zeros(n) },
        [seed, offset, 0.25],
        3,
      );
    }
  });

  it('update parameters in place', async () => {
    await compareKernel(
      gpu!,
      sgdStep(130),
      { p: wave(130), m: wave(130, 3), g: wave(130, 5) },
      [0.9, 0.125],
    );
  });
});

describe.skipIf(gpu === null)('reductions on the device', () => {
  const shapes: readonly (readonly [number, number])[] = [
    [1, 1],
    [3, 5],
    [7, 64],
    [40, 10],
    [2, 1000],
    [2, 4096],
    [2, 4099],
    [300, 3],
  ];
  for (const op of REDUCTIONS) {
    for (const along of ['rows', 'columns'] as const) {
      it(`${op} over ${along}`, async () => {
        for (const [outer, inner] of shapes) {
          const [rows, columns] = along === 'rows' ? [outer, inner] : [inner, outer];
          const kernel = reduceMatrix(op, along, rows, columns);
          const x =
            op === 'prod' ? wave(rows * columns).map((v) => 1 + v / 1000) : wave(rows * columns);
          const outs = Object.fromEntries(
            kernel.params.slice(1).map((param) => [param.name, zeros(outer)]),
          );
          await compareKernel(gpu!, kernel, { x, ...outs }, [], 10);
        }
      });
    }
  }

  it('integers and bools', async () => {
    for (const dtype of ['int32', 'int64', 'uint8', 'bool'] as const) {
      const x = wave(600).map((v) =>
        dtype === 'bool'
          ? Number(v > 0)
          : dtype === 'uint8'
            ? Math.abs(Math.trunc(v * 60))
            : Math.trunc(v * 1000),
      );
      for (const op of ['sum', 'max', 'min', 'prod', 'argmax', 'any'] as const) {
        if (op === 'sum' && dtype === 'uint8') continue;
        const values = op === 'prod' && dtype !== 'bool' ? x.map((v) => (v % 2) + 1) : x;
        const kernel = reduceMatrix(op, 'rows', 30, 20, dtype);
        if (op === 'prod' && dtype === 'uint8') continue;
        await compareKernel(gpu!, kernel, { x: values, out0: zeros(30) });
      }
    }
  });

  it('NaN and infinities as PyTorch treats them', async () => {
    const rows = [
      [1, NaN, 3, 2],
      [-Infinity, -Infinity, -Infinity, -Infinity],
      [1, Infinity, 2, -Infinity],
      [-Infinity, 1, 2, -Infinity],
      [NaN, 5, NaN, 7],
      [2, 2, 1, 2],
    ];
    const x = rows.flat();
    for (const op of ['max', 'min', 'argmax', 'argmin', 'sum'] as const) {
      await compareKernel(gpu!, reduceMatrix(op, 'rows', rows.length, 4), {
        x,
        out0: zeros(rows.length),
      });
    }
    await compareKernel(gpu!, softmax(rows.length, 4), { x, out: zeros(x.length) });
  });

  it('an empty loop gives the neutral element', async () => {
    const { out0 } = await runOnDevice(gpu!, reduceMatrix('sum', 'rows', 3, 0), {
      x: [],
      out0: [7, 7, 7],
    });
    expect(out0).toEqual([0, 0, 0]);
    await compareKernel(gpu!, reduceMatrix('max', 'columns', 0, 3), { x: [], out0: [7, 7, 7] });
  });

  it('softmax and layer norm in one dispatch, rows short and long', async () => {
    for (const [rows, columns] of [
      [5, 3],
      [40, 10],
      [6, 128],
      [3, 1000],
      [2, 2048],
      [2, 5000],
      [2, 9999],
    ]) {
      const n = rows * columns;
      await compareKernel(
        gpu!,
        softmax(rows, columns),
        { x: wave(n).map((v) => v * 9), out: zeros(n) },
        [],
        8,
      );
      await compareKernel(
        gpu!,
        layerNorm(rows, columns),
        {
          x: wave(n),
          weight: wave(columns, 3),
          bias: wave(columns, 5),
          mean: zeros(rows),
          rstd: zeros(rows),
          out: zeros(n),
        },
        [],
        10,
      );
    }
  });

  it('several inner variables', async () => {
    for (const [n, h, w, c] of [
      [2, 3, 5, 7],
      [3, 4, 4, 8],
      [1, 9, 8, 64],
    ]) {
      await compareKernel(
        gpu!,
        spatialSum(n, h, w, c),
        { x: wave(n * h * w * c), out: zeros(n * c) },
        [],
        10,
      );
    }
  });

  it('every schedule gives the same', async () => {
    const kernel = layerNorm(24, 96);
    const data = {
      x: wave(24 * 96),
      weight: wave(96, 3),
      bias: wave(96, 5),
      mean: zeros(24),
      rstd: zeros(24),
      out: zeros(24 * 96),
    };
    const schedules: ReductionThreads[] = [];
    for (const fast of ['inner', 'outer'] as const) {
      for (const lanes of ['inner', 'outer', 'none'] as const) {
        for (const [outerThreads, innerThreads] of [
          [1, 1],
          [1, 32],
          [8, 8],
          [64, 1],
          [4, 64],
        ]) {
          for (const steps of [0, 3]) {
            const units = lanes === 'inner' ? 24 : 96;
            if (steps > 0 && units > steps * innerThreads) continue;
            schedules.push({ fast, lanes, outerThreads, innerThreads, steps });
          }
        }
      }
    }
    expect(schedules.length).toBeGreaterThan(35);
    for (const subgroups of [gpu!.backend.target.subgroups, null]) {
      for (const schedule of schedules) {
        await compareKernel(gpu!, kernel, data, [], 10, {
          generate: (_, variant) => {
            const used = { ...gpu!.backend.target, subgroups };
            const scheduled = scheduleReduction(kernel, scheduleTarget(used), schedule);
            return emitScheduled(scheduled, used, variant ?? directVariant(6));
          },
        });
      }
    }
  });
});

describe('the choice of schedules', () => {
  const target: WgslTarget = {
    ...BASELINE_TARGET,
    maxWorkgroupThreads: 1024,
    maxWorkgroupBytes: 49152,
  };
  const choose = (kernel: LoopKernel): ReductionThreads =>
    chooseReductionThreads(kernel, scheduleTarget(target));

  it('puts neighbouring threads on neighbouring elements', () => {
    expect(choose(reduceMatrix('sum', 'rows', 64, 1024))).toMatchObject({
      fast: 'inner',
      lanes: 'inner',
    });
    expect(choose(reduceMatrix('sum', 'columns', 1024, 63))).toMatchObject({
      fast: 'outer',
      lanes: 'none',
    });
    expect(choose(reduceMatrix('sum', 'columns', 1024, 64))).toMatchObject({
      fast: 'outer',
      lanes: 'outer',
    });
  });

  it('gives each thread work, and few rows many threads', () => {
    expect(choose(reduceMatrix('sum', 'rows', 1 << 23, 16))).toMatchObject({
      innerThreads: 1,
      outerThreads: 256,
    });
    expect(choose(reduceMatrix('sum', 'rows', 1 << 20, 128))).toMatchObject({
      innerThreads: 8,
      outerThreads: 32,
    });
    expect(choose(reduceMatrix('sum', 'rows', 1 << 17, 1024))).toMatchObject({
      innerThreads: 64,
      outerThreads: 4,
    });
    expect(choose(reduceMatrix('sum', 'rows', 1797, 10))).toMatchObject({
      innerThreads: 8,
      outerThreads: 32,
    });
    expect(choose(reduceMatrix('sum', 'rows', 4, 65536))).toMatchObject({
      innerThreads: 1024,
      outerThreads: 1,
    });
  });

  it('counts what a row alone loads: words of packed weights are few', () => {
    expect(choose(rowTimesWords(1 << 17, 2048, 64))).toMatchObject({ innerThreads: 16 });
  });

  it('gives few columns many threads, as far as workgroup memory goes', () => {
    expect(choose(reduceMatrix('sum', 'columns', 16384, 1024))).toMatchObject({
      innerThreads: 256,
      outerThreads: 4,
    });
    // All loads of a thread are under way at once.
    expect(choose(reduceMatrix('sum', 'columns', 1024, 768))).toMatchObject({
      innerThreads: 64,
      outerThreads: 4,
      steps: 16,
    });
    expect(choose(reduceMatrix('sum', 'columns', 16, 1 << 23))).toMatchObject({
      innerThreads: 1,
      outerThreads: 256,
    });
    const crowded = chooseReductionThreads(
      reduceMatrix('welford', 'columns', 16384, 1024),
      scheduleTarget(BASELINE_TARGET),
    );
    expect(crowded.innerThreads * crowded.outerThreads * 4 * 16).toBeLessThanOrEqual(16384);
  });

  it('gives software adapters no barriers', () => {
    const software: WgslTarget = { ...target, software: true, parallelism: 4 };
    for (const kernel of [
      softmax(64, 512),
      reduceMatrix('sum', 'columns', 512, 64),
      reduceMatrix('max', 'rows', 3, 7),
    ]) {
      expect(generateKernel(kernel, software).text).not.toContain('workgroupBarrier');
    }
  });

  it('keeps a row in registers when it is read again', () => {
    expect(choose(softmax(4096, 2048))).toMatchObject({ steps: 4, innerThreads: 128 });
    expect(choose(softmax(32, 200000))).toMatchObject({ steps: 0 });
    const { text } = generateKernel(softmax(4096, 2048), target);
    expect(text.match(/= x\[/g)).toHaveLength(4);
    // One exponential for each vector, shared by the sum and the quotient.
    expect(text.match(/ exp_vec4f\(/g)).toHaveLength(5);
  });
});

describe('the order of points', () => {
  it('is in patches where a buffer is contiguous along another variable', () => {
    const { text } = generateKernel(transposedGelu(64, 48), BASELINE_TARGET);
    expect(text).toContain('patch_along');
    expect(generateKernel(siluAdd(64), BASELINE_TARGET).text).not.toContain('patch_along');
  });
});
