/** @file Every reduction along the lanes, across them, in one pass and in two, against the reference interpreter. */
import {
  IrBuilder,
  interpretKernel,
  verifyKernel,
  type IndexExpr,
  type LoopKernel,
  type ReduceOp,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { loadKernel, type Buffers } from './load-kernel.js';

/** Multiples of a quarter in [-5, 5], with ties. */
function numbers(count: number): number[] {
  let state = 7;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 16) % 41) / 4 - 5;
  });
}

/** Where the elements of a result lie: `shape` is the inner loops, in storage order. */
interface Layout {
  readonly results: number;
  readonly shape: readonly number[];
  readonly along: 'row' | 'column';
}

const LAYOUTS: Readonly<Record<string, Layout>> = {
  'short rows': { results: 5, shape: [13], along: 'row' },
  rows: { results: 3, shape: [1021], along: 'row' },
  'rows too long for two passes that end in whole vectors': {
    results: 1,
    shape: [33000],
    along: 'row',
  },
  'long rows that end inside a vector': { results: 1, shape: [33000 + 3], along: 'row' },
  'long rows in ragged pieces': { results: 1, shape: [6, 5601], along: 'row' },
  columns: { results: 70, shape: [19], along: 'column' },
  'long columns': { results: 9, shape: [500], along: 'column' },
  'columns in blocks of rows': { results: 300, shape: [300], along: 'column' },
};

function kernelOf(op: ReduceOp, dtype: DType, { results, shape, along }: Layout): LoopKernel {
  const ir = new IrBuilder();
  const i = ir.sym('i', results);
  const inner = shape.map((size, d) => ({ name: `r${d}`, size }));
  const count = shape.reduce((product, size) => product * size, 1);
  // The rows of a ragged layout are padded, so that its two loops stay two.
  const pitch = shape.at(-1)! + (shape.length > 1 ? 3 : 0);
  const place = inner.reduce<IndexExpr>(
    (sum, { name, size }, d) =>
      ir.add(sum, ir.scale(ir.sym(name, size), d === inner.length - 1 ? 1 : pitch)),
    ir.int(0),
  );
  const length = shape.length > 1 ? shape[0]! * pitch : count;
  const index =
    along === 'row' ? ir.add(ir.scale(i, length), place) : ir.add(i, ir.scale(place, results));
  const value = ir.load(dtype, 'x', index);
  const isPair = op === 'welford' || op === 'online_softmax';
  const out = op === 'argmax' || op === 'argmin' ? 'int64' : dtype;
  const ids = isPair ? [0, 1] : [0];
  const kernel: LoopKernel = {
    kind: 'loop',
    name: 'reduce',
    params: [
      { name: 'x', dtype, access: 'read' },
      ...ids.map((id) => ({ name: `out${id}`, dtype: out, access: 'write' as const })),
    ],
    scalars: [],
    outer: [{ name: 'i', size: results }],
    inner,
    stages: [
      { kind: 'inner', body: [{ kind: 'reduce', op, ids, dtype: out, value }] },
      {
        kind: 'outer',
        body: ids.map((id) => ({
          kind: 'store',
          buf: `out${id}`,
          index: i,
          value: ir.acc(out, id),
        })),
      },
    ],
  };
  verifyKernel(kernel);
  return kernel;
}

const OPS: readonly ReduceOp[] = [
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

function expectSame(op: ReduceOp, dtype: DType, layout: Layout, x: readonly number[]): void {
  const kernel = kernelOf(op, dtype, layout);
  const outputs = kernel.params.slice(1).map(({ name }) => [name, Array(layout.results).fill(9)]);
  const wanted: Buffers = { x: [...x], ...Object.fromEntries(outputs) };
  const got: Buffers = structuredClone(wanted);
  interpretKernel(kernel, wanted);
  loadKernel(kernel, generateLoopKernel(kernel, { relaxedSimd: false })).run(got);
  for (const { name } of kernel.params.slice(1))
    (wanted[name] as number[]).forEach((value, i) => {
      const actual = (got[name] as number[])[i]!;
      const isSame =
        Object.is(actual, value) || Math.abs(actual - value) <= 2e-5 * Math.max(1, Math.abs(value));
      if (!isSame) expect.fail(`${name}[${i}] is ${actual}, expected ${value}`);
    });
}

function elements({ results, shape }: Layout): number {
  const pitch = shape.at(-1)! + (shape.length > 1 ? 3 : 0);
  return results * (shape.length > 1 ? shape[0]! * pitch : shape[0]!);
}

describe.each(Object.entries(LAYOUTS))('%s', (_name, layout) => {
  const isLong = elements(layout) > 10_000;

  it.each(OPS)('%s of floats', (op) => {
    for (const dtype of isLong ? (['float32'] as const) : (['float32', 'float64'] as const)) {
      const mixed = numbers(elements(layout));
      const x =
        op === 'prod'
          ? mixed.map((value, i) => (i < 9 ? value / 2 : Math.sign(value) || 1))
          : mixed;
      expectSame(op, dtype, layout, x);
      if (isLong || op === 'prod' || op === 'welford') continue;
      expectSame(
        op,
        dtype,
        layout,
        x.map(() => -Infinity),
      );
      // A two-pass maximum may skip NaN, which the sum of exponentials then says.
      if (op === 'online_softmax') continue;
      expectSame(
        op,
        dtype,
        layout,
        x.map((value, i) => (i % 101 === 7 ? NaN : value)),
      );
    }
  });

  it.each(OPS.slice(0, 8))('%s of integers', (op) => {
    const fits = (dtype: DType): boolean =>
      (op !== 'sum' && op !== 'prod') || dtype.endsWith('4') || dtype.endsWith('2');
    const dtypes = isLong ? (['int64'] as const) : (['int64', 'int32', 'int8', 'bool'] as const);
    for (const dtype of dtypes.filter(fits)) {
      const x = numbers(elements(layout)).map((value) =>
        dtype === 'bool'
          ? Number(value > 4.5)
          : op === 'prod'
            ? Math.sign(value) || 1
            : Math.trunc(value),
      );
      expectSame(op, dtype, layout, x);
    }
  });
});
