/** The schedules of products on machines with caches: as text, verified, and interpreted beside the kernels they are made from. */
import {
  type MatmulKernel,
  printScheduled,
  scheduleProductBlocks,
  type ScheduledKernel,
  verifyScheduled,
  wordParts,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../src/loops/cpu-target.js';
import { expectAsInterpreted } from './interpret-schedule.js';
import { at, type Conv, convForward, convWeightGradient, ir, matmul } from './matmul-kernel.js';
import type { Sizes } from './run-kernel.js';

interface Case {
  readonly kernel: MatmulKernel;
  readonly sizes: Sizes;
}

const scheduled = ({ kernel }: Case): ScheduledKernel => scheduleProductBlocks(kernel, CPU_TARGET);

/** The schedule with items one by one. */
function alone(made: ScheduledKernel): ScheduledKernel {
  const { runs } = made.grid;
  return runs === undefined
    ? made
    : { ...made, grid: { ...made.grid, runs: { ...runs, most: 1 } } };
}

/** Stores that do not lie as sums do: `C[n, m]`, twice as large. */
const turned = (m: number, n: number): Case => {
  const { kernel, sizes } = matmul({ m, n, k: 5 });
  const value = ir.op('mul', [ir.acc('float32', 0), ir.const('float32', 2)]);
  return {
    kernel: {
      ...kernel,
      epilogue: [{ kind: 'store', buf: 'C', index: at({ n: m, m: 1 }), value }],
    },
    sizes,
  };
};

/** Columns of two variables of which the results are not neighbours: heads of a transformer. */
const heads = (): Case => {
  const { kernel, sizes } = matmul({ m: 20, n: 36, k: 7 });
  const columns = at({ h: 9, d: 1 });
  return {
    kernel: {
      ...kernel,
      n: [
        { name: 'h', size: 4 },
        { name: 'd', size: 9 },
      ],
      b: ir.load('float32', 'B', ir.add(at({ k: 36 }), columns)),
      epilogue: [
        {
          kind: 'store',
          buf: 'C',
          index: at({ h: 180, m: 9, d: 1 }),
          value: ir.op('add', [ir.acc('float32', 0), ir.const('float32', 1)]),
        },
      ],
    },
    sizes,
  };
};

const CONV: Conv = {
  batch: 2,
  channels: 3,
  out: 5,
  height: 9,
  width: 7,
  kernel: 3,
  stride: 1,
  pad: 1,
};

const CASES: Readonly<Record<string, () => Case>> = {
  'a product': () => matmul({ m: 21, n: 40, k: 13 }),
  'one of more k than a block has': () => matmul({ m: 20, n: 16, k: 800 }),
  'one whose columns are no vectors': () => matmul({ m: 21, n: 13, k: 9 }),
  'one of more k and no vectors': () => matmul({ m: 130, n: 9, k: 500 }),
  'one of doubles': () => matmul({ m: 12, n: 10, k: 9 }, { dtype: 'float64' }),
  'several of a batch': () => matmul({ m: 17, n: 24, k: 8, batch: 3 }),
  'transposed ones': () => matmul({ m: 17, n: 24, k: 8 }, { form: 'TT' }),
  'results that lie turned': () => turned(18, 11),
  'columns of several variables': heads,
  'one row': () => matmul({ m: 1, n: 150, k: 30 }),
  'three rows with vectors along k': () => matmul({ m: 3, n: 150, k: 30 }, { form: 'NT' }),
  'a convolution': () => convForward(CONV),
  'one with a stride': () => convForward({ ...CONV, height: 11, stride: 2 }),
  'one of single pixels': () => convForward({ ...CONV, kernel: 1, pad: 0 }),
  'the gradient of its weights': () => convWeightGradient(CONV),
  'sums of nothing': () => matmul({ m: 6, n: 9, k: 0 }),
};

describe('schedules of products', () => {
  for (const [name, make] of Object.entries(CASES))
    it(`of ${name} give what the kernel does`, () => {
      const made = make();
      const schedule = scheduled(made);
      expectAsInterpreted(made.kernel, schedule, made.sizes);
      expectAsInterpreted(made.kernel, alone(schedule), made.sizes);
    });

  it.each([
    ['matmul', matmul({ m: 300, n: 200, k: 1000 })],
    ['turned', turned(300, 201)],
    ['skinny', matmul({ m: 2, n: 256, k: 128 })],
    ['convolution', convForward({ ...CONV, channels: 32, out: 48, height: 28, width: 28 })],
  ])('of %s tell all that is chosen', async (name, made) => {
    await expect(`${printScheduled(scheduled(made))}\n`).toMatchFileSnapshot(
      `./golden/product_${name}.schedule.txt`,
    );
  });

  it('have no parts of words where an operand is plain', () => {
    const { kernel } = matmul({ m: 20, n: 16, k: 16 });
    const [product] = scheduleProductBlocks(kernel, CPU_TARGET, wordParts).products!;
    expect(product!.b.layout).toMatchObject({ kind: 'panels', from: { buf: 'B', lineStride: 1 } });
  });

  it('are refused where a result is recalled from an array that no product goes to', () => {
    const made = scheduled(turned(18, 11));
    verifyScheduled(made);
    const [product] = made.products!;
    const elsewhere = { ...made, products: [{ ...product!, to: 'rows' }] };
    expect(() => verifyScheduled(elsewhere)).toThrow("'sums' is recalled where nothing was kept");
  });
});
