/** @file Generated loop kernels against the reference interpreter of the IR. */
import {
  IrBuilder,
  interpretKernel,
  verifyKernel,
  type BufferParam,
  type Expr,
  type LoopKernel,
  type LoopVar,
  type Stage,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { loadKernel, type Buffers } from './load-kernel.js';

const PLAIN = { relaxedSimd: false };

/** Deterministic numbers in (-range, range). */
function numbers(count: number, range = 3, seed = 1): number[] {
  let state = seed >>> 0;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.fround((state / 2 ** 31 - 1) * range);
  });
}

interface Case {
  readonly outer?: readonly LoopVar[];
  readonly inner?: readonly LoopVar[];
  readonly stages: readonly Stage[];
  readonly params: Readonly<Record<string, readonly [DType, BufferParam['access']]>>;
  readonly scalars?: Readonly<Record<string, DType>>;
}

function kernelOf({ outer = [], inner = [], stages, params, scalars = {} }: Case): LoopKernel {
  const kernel: LoopKernel = {
    kind: 'loop',
    name: 'kernel',
    params: Object.entries(params).map(([name, [dtype, access]]) => ({ name, dtype, access })),
    scalars: Object.entries(scalars).map(([name, dtype]) => ({ name, dtype })),
    outer,
    inner,
    stages,
  };
  verifyKernel(kernel);
  return kernel;
}

/** Runs both sides and compares every buffer, with a tolerance relative to the largest magnitude. */
function expectSame(
  kernel: LoopKernel,
  buffers: Buffers,
  options: { tolerance?: number; scalars?: Record<string, number> } = {},
): Buffers {
  const { tolerance = 2e-6, scalars = {} } = options;
  const wanted: Buffers = structuredClone(buffers);
  interpretKernel(kernel, wanted, scalars);
  const code = generateLoopKernel(kernel, PLAIN);
  const loaded = loadKernel(kernel, code);
  for (const parts of new Set([1, Math.min(3, Math.max(1, Number(code.workItems)))])) {
    const got: Buffers = structuredClone(buffers);
    loaded.run(got, scalars, parts);
    for (const [name, values] of Object.entries(wanted)) {
      const actual = got[name] as number[];
      values.forEach((value, i) => {
        const x = actual[i] as number;
        const same =
          Object.is(x, value) ||
          x === value ||
          Math.abs(x - value) <= tolerance * Math.max(1, Math.abs(value));
        if (!same) expect.fail(`${name}[${i}] is ${x}, expected ${value} (${parts} parts)`);
      });
    }
  }
  return wanted;
}

const v = (name: string, size: number): LoopVar => ({ name, size });

describe('pointwise kernels', () => {
  for (const n of [1, 3, 4, 7, 8, 16, 31, 33, 1000, 5000, 10007]) {
    it(`computes x * sigmoid(x) * tanh(x) + y over ${n} elements`, () => {
      const ir = new IrBuilder();
      const i = ir.sym('i', n);
      const x = ir.load('float32', 'x', i);
      const y = ir.load('float32', 'y', i);
      const value = ir.op('add', [
        ir.op('mul', [ir.op('mul', [x, ir.op('sigmoid', [x])]), ir.op('tanh', [x])]),
        y,
      ]);
      const kernel = kernelOf({
        outer: [v('i', n)],
        stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value }] }],
        params: { x: ['float32', 'read'], y: ['float32', 'read'], out: ['float32', 'write'] },
      });
      expectSame(kernel, { x: numbers(n), y: numbers(n, 3, 2), out: numbers(n, 1, 3) });
    });
  }

  it('adds a row to groups of rows: a part of one loop goes together with the next loop', () => {
    const ir = new IrBuilder();
    const [m, n] = [64, 5];
    const [i, j] = [ir.sym('i', m), ir.sym('j', n)];
    const at = ir.add(ir.scale(i, n), j);
    const row = ir.load('float32', 'row', ir.div(i, 16));
    const value = ir.op('add', [ir.load('float32', 'x', at), row]);
    const kernel = kernelOf({
      outer: [v('i', m), v('j', n)],
      stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: at, value }] }],
      params: { x: ['float32', 'read'], row: ['float32', 'read'], out: ['float32', 'write'] },
    });
    expectSame(kernel, { x: numbers(m * n), row: numbers(4, 3, 2), out: numbers(m * n, 1, 3) });
  });

  it('broadcasts a row over a matrix and a column over a matrix', () => {
    const ir = new IrBuilder();
    const [m, n] = [13, 22];
    const [i, j] = [ir.sym('i', m), ir.sym('j', n)];
    const at = ir.add(ir.scale(i, n), j);
    const value = ir.op('mul', [
      ir.op('add', [ir.load('float32', 'x', at), ir.load('float32', 'row', j)]),
      ir.load('float32', 'column', i),
    ]);
    const kernel = kernelOf({
      outer: [v('i', m), v('j', n)],
      stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: at, value }] }],
      params: {
        x: ['float32', 'read'],
        row: ['float32', 'read'],
        column: ['float32', 'read'],
        out: ['float32', 'write'],
      },
    });
    expectSame(kernel, {
      x: numbers(m * n),
      row: numbers(n, 1, 5),
      column: numbers(m, 1, 6),
      out: numbers(m * n, 1, 7),
    });
  });

  for (const [m, n] of [
    [4, 4],
    [8, 12],
    [33, 70],
    [5, 3],
    [150, 131],
  ] as const) {
    it(`transposes ${m}×${n}`, () => {
      const ir = new IrBuilder();
      const [i, j] = [ir.sym('i', m), ir.sym('j', n)];
      const value = ir.op('mul', [
        ir.load('float32', 'x', ir.add(ir.scale(j, m), i)),
        ir.const('float32', 2),
      ]);
      const kernel = kernelOf({
        outer: [v('i', m), v('j', n)],
        stages: [
          {
            kind: 'outer',
            body: [{ kind: 'store', buf: 'out', index: ir.add(ir.scale(i, n), j), value }],
          },
        ],
        params: { x: ['float32', 'read'], out: ['float32', 'write'] },
      });
      expectSame(kernel, { x: numbers(m * n), out: numbers(m * n, 1, 7) });
    });
  }
});

describe('row reductions', () => {
  const rowKernel = (
    m: number,
    n: number,
    build: (ir: IrBuilder, x: Expr) => Stage[],
    outSize: 'row' | 'matrix',
  ): LoopKernel => {
    const ir = new IrBuilder();
    const [i, r] = [ir.sym('i', m), ir.sym('r', n)];
    const x = ir.load('float32', 'x', ir.add(ir.scale(i, n), r));
    const stages = build(ir, x);
    void outSize;
    return kernelOf({
      outer: [v('i', m)],
      inner: [v('r', n)],
      stages,
      params: { x: ['float32', 'read'], out: ['float32', 'write'] },
    });
  };

  for (const [m, n] of [
    [3, 5],
    [2, 16],
    [7, 100],
    [5, 1024],
    [1, 4099],
    [64, 10],
  ] as const) {
    it(`sums ${m} rows of ${n}`, () => {
      const kernel = rowKernel(
        m,
        n,
        (ir, x) => [
          {
            kind: 'inner',
            body: [{ kind: 'reduce', op: 'sum', ids: [0], dtype: 'float32', value: x }],
          },
          {
            kind: 'outer',
            body: [
              { kind: 'store', buf: 'out', index: ir.sym('i', m), value: ir.acc('float32', 0) },
            ],
          },
        ],
        'row',
      );
      expectSame(kernel, { x: numbers(m * n), out: numbers(m, 1, 9) }, { tolerance: 1e-4 });
    });

    it(`takes the softmax of ${m} rows of ${n}`, () => {
      const kernel = rowKernel(
        m,
        n,
        (ir, x) => {
          const e = ir.op('exp', [ir.op('sub', [x, ir.acc('float32', 0)])]);
          return [
            {
              kind: 'inner',
              body: [{ kind: 'reduce', op: 'max', ids: [0], dtype: 'float32', value: x }],
            },
            {
              kind: 'inner',
              body: [{ kind: 'reduce', op: 'sum', ids: [1], dtype: 'float32', value: e }],
            },
            {
              kind: 'inner',
              body: [
                {
                  kind: 'store',
                  buf: 'out',
                  index: ir.add(ir.scale(ir.sym('i', m), n), ir.sym('r', n)),
                  value: ir.op('div', [e, ir.acc('float32', 1)]),
                },
              ],
            },
          ];
        },
        'matrix',
      );
      expectSame(kernel, { x: numbers(m * n), out: numbers(m * n, 1, 9) });
    });

    it(`takes the online softmax of ${m} rows of ${n}`, () => {
      const kernel = rowKernel(
        m,
        n,
        (ir, x) => {
          const e = ir.op('exp', [ir.op('sub', [x, ir.acc('float32', 0)])]);
          return [
            {
              kind: 'inner',
              body: [
                { kind: 'reduce', op: 'online_softmax', ids: [0, 1], dtype: 'float32', value: x },
              ],
            },
            {
              kind: 'inner',
              body: [
                {
                  kind: 'store',
                  buf: 'out',
                  index: ir.add(ir.scale(ir.sym('i', m), n), ir.sym('r', n)),
                  value: ir.op('div', [e, ir.acc('float32', 1)]),
                },
              ],
            },
          ];
        },
        'matrix',
      );
      expectSame(kernel, { x: numbers(m * n), out: numbers(m * n, 1, 9) });
    });

    it(`normalises ${m} rows of ${n}`, () => {
      const kernel = rowKernel(
        m,
        n,
        (ir, x) => {
          const variance = ir.op('mul', [ir.acc('float32', 1), ir.const('float32', 1 / n)]);
          const scale = ir.op('rsqrt', [ir.op('add', [variance, ir.const('float32', 1e-5)])]);
          return [
            {
              kind: 'inner',
              body: [{ kind: 'reduce', op: 'welford', ids: [0, 1], dtype: 'float32', value: x }],
            },
            {
              kind: 'inner',
              body: [
                {
                  kind: 'store',
                  buf: 'out',
                  index: ir.add(ir.scale(ir.sym('i', m), n), ir.sym('r', n)),
                  value: ir.op('mul', [ir.op('sub', [x, ir.acc('float32', 0)]), scale]),
                },
              ],
            },
          ];
        },
        'matrix',
      );
      expectSame(kernel, { x: numbers(m * n), out: numbers(m * n, 1, 9) }, { tolerance: 2e-5 });
    });
  }
});

describe('large kernels', () => {
  it('takes 10,000 chained operations without recursion', () => {
    const ir = new IrBuilder();
    const i = ir.sym('i', 8);
    let value = ir.load('float32', 'x', i);
    const expected = numbers(8);
    for (let k = 0; k < 10_000; k++) {
      const c = Math.fround(k % 2 === 0 ? 1 + (k % 7) / 64 : -(k % 5) / 16);
      value = ir.op(k % 2 === 0 ? 'mul' : 'add', [value, ir.const('float32', c)]);
      if (k % 50 === 0) value = ir.op('minimum', [value, ir.const('float32', 2)]);
      expected.forEach((x, at) => {
        const next = Math.fround(k % 2 === 0 ? x * c : x + c);
        expected[at] = k % 50 === 0 ? Math.min(next, 2) : next;
      });
    }
    const kernel = kernelOf({
      outer: [v('i', 8)],
      stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value }] }],
      params: { x: ['float32', 'read'], out: ['float32', 'write'] },
    });
    const buffers: Buffers = { x: numbers(8), out: numbers(8, 1, 3) };
    loadKernel(kernel, generateLoopKernel(kernel, PLAIN)).run(buffers);
    expect(buffers.out).toEqual(expected);
  });

  it('does nothing for an empty outer loop and gives identities for an empty inner one', () => {
    const ir = new IrBuilder();
    const index = ir.sym('i', 3);
    const sum = (outer: number, inner: number): LoopKernel =>
      kernelOf({
        outer: [v('i', outer)],
        inner: [v('r', inner)],
        stages: [
          {
            kind: 'inner',
            body: [
              {
                kind: 'reduce',
                op: 'sum',
                ids: [0],
                dtype: 'float32',
                value: ir.load('float32', 'x', index),
              },
            ],
          },
          {
            kind: 'outer',
            body: [{ kind: 'store', buf: 'out', index, value: ir.acc('float32', 0) }],
          },
        ],
        params: { x: ['float32', 'read'], out: ['float32', 'write'] },
      });
    expect(generateLoopKernel(sum(0, 5), PLAIN).workItems).toBe(0);
    expect(expectSame(sum(3, 0), { x: [1, 2, 3], out: [7, 7, 7] }).out).toEqual([0, 0, 0]);
  });
});
