/**
 * @file Generated code of a handful of kernels, as text: a change of code generation shows up here.
 *
 * `vitest run -u` rewrites the files under `golden/`; read the difference before committing it. wabt
 * parses the text and must arrive at the bytes that are run.
 */
import {
  IrBuilder,
  verifyKernel,
  type Expr,
  type IndexExpr,
  type LoopKernel,
  type Stage,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { expectTextEqualsBinary } from './wabt-check.js';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { SCRATCH } from '../src/wasm-kernel.js';

const ROWS = 64;
const COLUMNS = 100;

interface Draft {
  readonly outer: Readonly<Record<string, number>>;
  readonly inner?: Readonly<Record<string, number>>;
  readonly reads: readonly string[];
  /** Type of the result; float32 unless said. */
  readonly out?: 'int64';
  readonly stages: (ir: IrBuilder) => Stage[];
}

/** f32 kernels over a matrix `x` of ROWS × COLUMNS. */
const DRAFTS: Readonly<Record<string, Draft>> = {
  pointwise_chain: {
    outer: { i: ROWS * COLUMNS },
    reads: ['x', 'y'],
    stages: (ir) => {
      const at = ir.sym('i');
      const x = ir.load('float32', 'x', at);
      const product = ir.op('mul', [ir.op('mul', [x, ir.op('sigmoid', [x])]), ir.op('tanh', [x])]);
      return [
        {
          kind: 'outer',
          body: [
            {
              kind: 'store',
              buf: 'out',
              index: at,
              value: ir.op('add', [product, ir.load('float32', 'y', at)]),
            },
          ],
        },
      ];
    },
  },
  bias_relu: {
    outer: { i: ROWS, j: COLUMNS },
    reads: ['x', 'bias'],
    stages: (ir) => {
      const at = matrix(ir);
      const sum = ir.op('add', [
        ir.load('float32', 'x', at),
        ir.load('float32', 'bias', ir.sym('j')),
      ]);
      return [
        {
          kind: 'outer',
          body: [
            {
              kind: 'store',
              buf: 'out',
              index: at,
              value: ir.op('maximum', [sum, ir.const('float32', 0)]),
            },
          ],
        },
      ];
    },
  },
  running_sum: {
    outer: { i: ROWS },
    inner: { j: COLUMNS },
    reads: ['x'],
    stages: (ir) => {
      const value = ir.load('float32', 'x', matrix(ir));
      return [
        {
          kind: 'inner',
          body: [
            { kind: 'reduce', op: 'sum', ids: [0], dtype: 'float32', value, running: true },
            { kind: 'store', buf: 'out', index: matrix(ir), value: ir.acc('float32', 0) },
          ],
        },
      ];
    },
  },
  softmax: {
    outer: { i: ROWS },
    inner: { j: COLUMNS },
    reads: ['x'],
    stages: (ir) => {
      const x = ir.load('float32', 'x', matrix(ir));
      const e = ir.op('exp', [ir.op('sub', [x, ir.acc('float32', 0)])]);
      return [
        {
          kind: 'inner',
          body: [{ kind: 'reduce', op: 'online_softmax', ids: [0, 1], dtype: 'float32', value: x }],
        },
        {
          kind: 'inner',
          body: [
            {
              kind: 'store',
              buf: 'out',
              index: matrix(ir),
              value: ir.op('div', [e, ir.acc('float32', 1)]),
            },
          ],
        },
      ];
    },
  },
  layer_norm: {
    outer: { i: ROWS },
    inner: { j: COLUMNS },
    reads: ['x', 'weight'],
    stages: (ir) => {
      const x = ir.load('float32', 'x', matrix(ir));
      const variance = ir.op('mul', [ir.acc('float32', 1), ir.const('float32', 1 / COLUMNS)]);
      const scale = ir.op('rsqrt', [ir.op('add', [variance, ir.const('float32', 1e-5)])]);
      const normal = ir.op('mul', [ir.op('sub', [x, ir.acc('float32', 0)]), scale]);
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
              index: matrix(ir),
              value: ir.op('mul', [normal, ir.load('float32', 'weight', ir.sym('j'))]),
            },
          ],
        },
      ];
    },
  },
  row_max: {
    outer: { i: ROWS },
    inner: { j: COLUMNS },
    reads: ['x'],
    stages: (ir) => reduced(ir, 'max', ir.load('float32', 'x', matrix(ir)), ir.sym('i')),
  },
  long_row_sum: {
    outer: { i: 2 },
    inner: { j: 3200 },
    reads: ['x'],
    stages: (ir) => {
      const at = ir.add(ir.scale(ir.sym('i'), 3200), ir.sym('j'));
      return reduced(ir, 'sum', ir.load('float32', 'x', at), ir.sym('i'));
    },
  },
  column_argmax: {
    outer: { j: COLUMNS },
    inner: { i: ROWS },
    reads: ['x'],
    out: 'int64',
    stages: (ir) => reduced(ir, 'argmax', ir.load('float32', 'x', matrix(ir)), ir.sym('j')),
  },
  column_softmax_sums: {
    outer: { j: COLUMNS },
    inner: { i: ROWS },
    reads: ['x'],
    stages: (ir) => {
      const value = ir.load('float32', 'x', matrix(ir));
      return [
        {
          kind: 'inner',
          body: [{ kind: 'reduce', op: 'online_softmax', ids: [0, 1], dtype: 'float32', value }],
        },
        {
          kind: 'outer',
          body: [{ kind: 'store', buf: 'out', index: ir.sym('j'), value: ir.acc('float32', 1) }],
        },
      ];
    },
  },
  column_sum: {
    outer: { j: COLUMNS },
    inner: { i: ROWS },
    reads: ['x'],
    stages: (ir) => reduced(ir, 'sum', ir.load('float32', 'x', matrix(ir)), ir.sym('j')),
  },
  transpose: {
    outer: { j: COLUMNS, i: ROWS },
    reads: ['x'],
    stages: (ir) => [
      {
        kind: 'outer',
        body: [
          {
            kind: 'store',
            buf: 'out',
            index: ir.add(ir.scale(ir.sym('j'), ROWS), ir.sym('i')),
            value: ir.load('float32', 'x', matrix(ir)),
          },
        ],
      },
    ],
  },
  padded_shift: {
    outer: { i: ROWS, j: COLUMNS },
    reads: ['x'],
    stages: (ir) => {
      const left = ir.sub(ir.sym('j'), ir.int(1));
      const inside = ir.op('ge', [ir.index('int32', left), ir.const('int32', 0)]);
      const value = ir.masked(
        inside,
        ir.load('float32', 'x', ir.add(ir.scale(ir.sym('i'), COLUMNS), left)),
        0,
      );
      return [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: matrix(ir), value }] }];
    },
  },
};

function matrix(ir: IrBuilder): IndexExpr {
  return ir.add(ir.scale(ir.sym('i'), COLUMNS), ir.sym('j'));
}

function reduced(
  ir: IrBuilder,
  op: 'sum' | 'max' | 'argmax',
  value: Expr,
  index: IndexExpr,
): Stage[] {
  const dtype = op === 'argmax' ? 'int64' : 'float32';
  return [
    { kind: 'inner', body: [{ kind: 'reduce', op, ids: [0], dtype, value }] },
    { kind: 'outer', body: [{ kind: 'store', buf: 'out', index, value: ir.acc(dtype, 0) }] },
  ];
}

function kernelOf(name: string, { outer, inner = {}, reads, out, stages }: Draft): LoopKernel {
  const ir = new IrBuilder();
  for (const [variable, size] of Object.entries({ ...outer, ...inner })) ir.sym(variable, size);
  const vars = (sizes: Readonly<Record<string, number>>): LoopKernel['outer'] =>
    Object.entries(sizes).map(([variable, size]) => ({ name: variable, size }));
  const kernel: LoopKernel = {
    kind: 'loop',
    name,
    params: [
      ...reads.map((buffer) => ({
        name: buffer,
        dtype: 'float32' as const,
        access: 'read' as const,
      })),
      { name: 'out', dtype: out ?? 'float32', access: 'write' },
    ],
    scalars: [],
    outer: vars(outer),
    inner: vars(inner),
    stages: stages(ir),
  };
  verifyKernel(kernel);
  return kernel;
}

describe('generated text', () => {
  for (const [name, draft] of Object.entries(DRAFTS)) {
    it(`of ${name} is as recorded`, async () => {
      const { func } = generateLoopKernel(kernelOf(name, draft), { relaxedSimd: false });
      await expect(`${printFunctionWithDependencies(func)}\n`).toMatchFileSnapshot(
        `./golden/${name}.wat`,
      );
    });

    for (const relaxedSimd of [false, true]) {
      it(`of ${name}${relaxedSimd ? ' with relaxed SIMD' : ''} assembles to the bytes that run`, () => {
        const { func } = generateLoopKernel(kernelOf(name, draft), { relaxedSimd });
        expectTextEqualsBinary({
          memory: { minPages: 1, maxPages: 65536, shared: true },
          functions: [func],
          globals: [SCRATCH],
        });
      });
    }
  }

  it('is the same every time', () => {
    const draft = DRAFTS.softmax as Draft;
    const text = (): string =>
      printFunctionWithDependencies(
        generateLoopKernel(kernelOf('softmax', draft), { relaxedSimd: false }).func,
      );
    expect(text()).toBe(text());
  });
});
