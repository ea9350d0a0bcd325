/** @file Products of few rows with weights of fewer than 32 bits: compared with the interpreter, format by format. */
import { interpretKernel, verifyKernel, type LoopKernel, type Stmt } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import {
  both,
  type Case,
  expectClose,
  ir,
  kernelOf,
  numbers,
  scheduledGemv,
  weights,
} from './gemv-kernel.js';
import { loadKernel } from './load-kernel.js';
import { at } from './matmul-kernel.js';

describe('products of few rows with narrow weights', () => {
  for (const format of ['float16', 'bfloat16', 'int8', 'int8s', 'int4'] as const) {
    it.each([
      [8, 32],
      [9, 64],
      [50, 96],
      [131, 256],
    ])(`sums ${format} over %i columns of depth %i, in any parts`, (columns, depth) => {
      for (const parts of [1, 3])
        for (const { got, wanted } of both({ format, columns, depth }, parts))
          expectClose(got, wanted);
    });

    it.each([
      [2, 8, 32],
      [3, 50, 96],
      [5, 131, 64],
      [8, 32, 128],
    ])(
      `sums ${format} of %i rows, over %i columns of depth %i, in any parts`,
      (rows, columns, depth) => {
        for (const parts of [1, 4, 7])
          for (const { got, wanted } of both({ format, rows, columns, depth }, parts))
            expectClose(got, wanted);
      },
    );

    it(`sums several products of ${format} that share their row`, () => {
      for (const { got, wanted } of both({ format, columns: 22, depth: 64, sums: 2 }, 2))
        expectClose(got, wanted);
    });
  }

  it('has the largest and the smallest float16, infinities and NaN', () => {
    const made: Case = { format: 'float16', columns: 12, depth: 32 };
    const special = [65504, -65504, 2 ** -24, -(2 ** -24), Infinity, -Infinity, NaN];
    const put = (values: Map<string, number[]>): void =>
      special.forEach((value, n) => {
        values.get(weights('float16', 0))!.fill(0, n * made.depth, (n + 1) * made.depth);
        values.get(weights('float16', 0))![n * made.depth + n] = value;
      });
    for (const { got, wanted } of both(made, 1, put)) {
      // Each is alone in its column: nothing else rounds.
      expect(got.slice(0, special.length)).toEqual(wanted.slice(0, special.length));
      expectClose(got.slice(special.length), wanted.slice(special.length));
    }
  });

  it('sums float16 of 2 and more, alone and beside infinities', () => {
    const made: Case = { format: 'float16', columns: 71, depth: 64 };
    for (const special of [2, -2, 1000, Infinity]) {
      const put = (values: Map<string, number[]>): void => {
        // One of a call of neighbours, of calls of columns that are apart, and of the rest.
        for (const n of [3, 20, 40, 70])
          values.get(weights('float16', 0))![n * made.depth + n - 3] = special;
      };
      for (const { got, wanted } of both(made, 2, put)) {
        const isFiniteAt = (_: number, n: number): boolean => Number.isFinite(wanted[n]);
        expectClose(got.filter(isFiniteAt), wanted.filter(isFiniteAt));
        expect(got.map(Number.isFinite)).toEqual(wanted.map(Number.isFinite));
      }
    }
  });

  it('makes a row once for all calls of a launch, and anew where nothing is known of earlier ones', () => {
    const kernel = kernelOf({ format: 'int4', columns: 128, depth: 64 });
    const code = generateLoopKernel(kernel, { relaxedSimd: false, pairProducts: true });
    const loaded = loadKernel(kernel, code);
    const buffers = () => ({
      x: numbers(64, 'float32', 1),
      [weights('int4', 0)]: numbers(1024, 'int32', 2),
      s0: numbers(512, 'float32', 3),
      out: numbers(128, 'float32', 4),
    });
    const results = [1, 4, 1].map((parts) => {
      const values = buffers();
      loaded.run(values, {}, parts);
      return { out: values.out, kept: loaded.kept() };
    });
    expect(results.map(({ kept }) => kept)).toEqual([0, 2, 0]);
    for (const { out } of results) expect(out).toEqual(results[0]!.out);
  });

  it('has infinities and NaN in the rows that have them', () => {
    for (const format of ['int8', 'int4'] as const) {
      const made: Case = { format, rows: 3, columns: 40, depth: 64, plain: true };
      const put = (values: Map<string, number[]>): void => {
        values.get('x')![made.depth + 5] = NaN;
      };
      for (const { got } of both(made, 4, put))
        expect(
          [0, 1, 2].map((m) => got.slice(40 * m, 40 * (m + 1)).every(Number.isFinite)),
        ).toEqual([true, false, true]);
    }
  });

  it('stores columns that are two variables, in order where places are computed', () => {
    const made: Case = { format: 'float16', columns: 24, depth: 32 };
    const [heads, size] = [3, 8];
    const rows = ir.load(
      'float16',
      weights('float16', 0),
      at({ h: size * made.depth, n: made.depth, k0: 1 }),
    );
    const x = ir.load('float32', 'x', at({ k0: 1 }));
    const index = ir.add(
      at({ h: 2 * size, n: 1 }),
      ir.scale(ir.value(ir.load('int64', 'place', at({}))), size),
    );
    const kernel: LoopKernel = {
      kind: 'loop',
      name: 'scattered',
      params: [
        { name: 'x', dtype: 'float32', access: 'read' },
        { name: weights('float16', 0), dtype: 'float16', access: 'read' },
        { name: 'place', dtype: 'int64', access: 'read' },
        { name: 'out', dtype: 'float32', access: 'write' },
      ],
      scalars: [],
      outer: [
        { name: 'h', size: heads },
        { name: 'n', size },
      ],
      inner: [{ name: 'k0', size: made.depth }],
      stages: [
        {
          kind: 'inner',
          body: [
            {
              kind: 'reduce',
              op: 'sum',
              ids: [0],
              dtype: 'float32',
              value: ir.op('mul', [x, ir.cast(rows, 'float32')]),
            },
          ],
        },
        {
          kind: 'outer',
          body: [{ kind: 'store', buf: 'out', index, value: ir.acc('float32', 0) }],
        },
      ],
    };
    verifyKernel(kernel);
    const values = new Map([
      ['x', numbers(made.depth, 'float32', 1)],
      [weights('float16', 0), numbers(24 * made.depth, 'float16', 2)],
      ['place', [1]],
      ['out', Array<number>(48).fill(0)],
    ]);
    const expected = structuredClone(values);
    interpretKernel(kernel, expected, {});
    expect(scheduledGemv(kernel)).not.toBeNull();
    const code = generateLoopKernel(kernel, { relaxedSimd: false });
    expect(code.needsSerial).toBe(true);
    const actual = Object.fromEntries(structuredClone(values));
    loadKernel(kernel, code).run(actual, {}, 1);
    expectClose(actual['out']!, expected.get('out')!);
  });

  it('leaves other reductions to the schedule for vectors', () => {
    const made: Case = { format: 'int8', columns: 16, depth: 64 };
    const kernel = kernelOf(made);
    const [inner, outer] = kernel.stages;
    const most = inner!.body.map((stmt) => ({ ...stmt, op: 'max' }) as Stmt);
    expect(
      scheduledGemv({ ...kernel, stages: [{ kind: 'inner', body: most }, outer!] }),
    ).toBeNull();
    expect(scheduledGemv(kernelOf({ ...made, columns: 4 }))).toBeNull();
  });
});
