/** @file Products of one row with weights of fewer than 32 bits: compared with the interpreter, format by format. */
import {
  IrBuilder,
  interpretKernel,
  verifyKernel,
  type Expr,
  type LoopKernel,
  type Stmt,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import type { CodeOptions } from '../src/body/vector-builder.js';
import { gemvProblem } from '../src/gemv/gemv-problem.js';
import { useNarrowWeights } from '../src/gemv/use-narrow-weights.js';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { loadKernel } from './load-kernel.js';
import { at } from './matmul-kernel.js';

// One for all kernels, which share expressions by the names of buffers: those differ by format.

const ir = new IrBuilder();
const weights = (format: Format, i: number): string => `${format}_w${i}`;

/** `int8s` has a scale for each group. */
type Format = 'float16' | 'bfloat16' | 'int8' | 'int8s' | 'int4';
const GROUP = 32;

interface Case {
  readonly format: Format;
  readonly columns: number;
  readonly depth: number;
  /** Products that the kernel sums, with weights of their own. */
  readonly sums?: number;
}

/** Digits of k and their sizes. */
function digitsOf({ format, depth }: Case): Record<string, number> {
  if (format === 'int8') return { k0: depth / 4, k1: 4 };
  if (format === 'int8s') return { k0: depth / GROUP, k1: GROUP / 4, k2: 4 };
  if (format === 'int4') return { k0: depth / GROUP, k1: GROUP / 8, k2: 8 };
  return { k0: depth };
}

/** The weight at (n, k) of the sum number `i`. */
function weightOf({ format, columns, depth }: Case, i: number): Expr {
  const word = (terms: Record<string, number>): Expr =>
    ir.load('int32', weights(format, i), at(terms));
  const whole = (value: number): Expr => ir.const('int32', value);
  const shift = (digit: string, bits: number): Expr =>
    ir.op('mul', [ir.index('int32', ir.sym(digit)), whole(bits)]);
  if (format === 'int8') {
    const up = ir.op('sub', [whole(24), shift('k1', 8)]);
    const raised = ir.op('shl', [word({ n: depth / 4, k0: 1 }), up]);
    return ir.cast(ir.op('shr', [raised, whole(24)]), 'float32');
  }
  if (format === 'int8s') {
    const up = ir.op('sub', [whole(24), shift('k2', 8)]);
    const raised = ir.op('shl', [word({ n: depth / 4, k0: GROUP / 4, k1: 1 }), up]);
    const value = ir.cast(ir.op('shr', [raised, whole(24)]), 'float32');
    return ir.op('mul', [value, ir.load('float32', `s${i}`, at({ k0: columns, n: 1 }))]);
  }
  if (format === 'int4') {
    const shifted = ir.op('shr', [word({ n: depth / 8, k0: GROUP / 8, k1: 1 }), shift('k2', 4)]);
    const centered = ir.op('sub', [ir.op('and', [shifted, whole(15)]), whole(8)]);
    const [scale, zero] = [0, 1].map((last) =>
      ir.load('float32', `s${i}`, at({ k0: 2 * columns, n: 2 }, last)),
    ) as [Expr, Expr];
    return ir.op('add', [ir.op('mul', [ir.cast(centered, 'float32'), scale]), zero]);
  }
  return ir.cast(ir.load(format, weights(format, i), at({ n: depth, k0: 1 })), 'float32');
}

/** `out[n] += relu(Σ over sums of n's products)`, of x² + 1: an operand that is more than a load. */
function kernelOf(made: Case): LoopKernel {
  const { format, columns, sums = 1 } = made;
  const digits = digitsOf(made);
  const dtype: DType = format.startsWith('int')
    ? 'int32'
    : format === 'float16'
      ? format
      : 'bfloat16';
  let unit = 1;
  const place: Record<string, number> = {};
  for (const [name, size] of Object.entries(digits).toReversed()) {
    place[name] = unit;
    unit *= size;
  }
  const loaded = ir.load('float32', 'x', at(place));
  const x = ir.op('add', [ir.op('mul', [loaded, loaded]), ir.const('float32', 1)]);
  const numbers = Array.from({ length: sums }, (_, i) => i);
  const total = numbers
    .map((i): Expr => ir.acc('float32', i))
    .reduce((a, b) => ir.op('add', [a, b]));
  const before = ir.load('float32', 'out', at({ n: 1 }));
  const value = ir.op('add', [ir.op('maximum', [total, ir.const('float32', 0)]), before]);
  return {
    kind: 'loop',
    name: 'gemv',
    params: [
      { name: 'x', dtype: 'float32', access: 'read' },
      ...numbers.map((i) => ({ name: weights(format, i), dtype, access: 'read' as const })),
      ...numbers.flatMap((i) =>
        format === 'int4' || format === 'int8s'
          ? [{ name: `s${i}`, dtype: 'float32', access: 'read' } as const]
          : [],
      ),
      { name: 'out', dtype: 'float32', access: 'readwrite' },
    ],
    scalars: [],
    outer: [{ name: 'n', size: columns }],
    inner: Object.entries(digits).map(([name, size]) => ({ name, size })),
    stages: [
      {
        kind: 'inner',
        body: numbers.map((i): Stmt => ({
          kind: 'reduce',
          op: 'sum',
          ids: [i],
          dtype: 'float32',
          value: ir.op('mul', [x, weightOf(made, i)]),
        })),
      },
      { kind: 'outer', body: [{ kind: 'store', buf: 'out', index: at({ n: 1 }), value }] },
    ],
  };
}

/** Numbers in [-1, 1) or of 32 bits. */
function numbers(count: number, dtype: DType, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    const mixed = state ^ (state >>> 15);
    return dtype === 'int32' ? mixed : Math.round((mixed / 2 ** 31) * 128) / 128;
  });
}

function bufferSizes({ format, columns, depth }: Case): Record<string, number> {
  const perElement = format.startsWith('int8') ? 4 : format === 'int4' ? 8 : 1;
  return {
    x: depth,
    w: (columns * depth) / perElement,
    s: (depth / GROUP) * columns * 2,
    out: columns,
  };
}

useNarrowWeights();

/** Products of floats, and of integers. */
const machines: readonly CodeOptions[] = (hasRelaxedSimd() ? [false, true] : [false]).flatMap(
  (relaxedSimd) => [
    { relaxedSimd, pairProducts: false },
    { relaxedSimd, pairProducts: true },
  ],
);

/** Runs the code, split into parts, and gives what the interpreter gives. */
function both(
  made: Case,
  parts: number,
  adjust: (values: Map<string, number[]>) => void = () => {},
): { got: readonly number[]; wanted: readonly number[] }[] {
  const kernel = kernelOf(made);
  verifyKernel(kernel);
  expect(gemvProblem(kernel), 'has code of its own').not.toBeNull();
  const sizes = bufferSizes(made);
  const values = new Map(
    kernel.params.map(({ name, dtype }, i) => [
      name,
      numbers(sizes[/[a-z]+(?=\d?$)/.exec(name)![0]]!, dtype, i + 1),
    ]),
  );
  adjust(values);
  const expected = structuredClone(values);
  interpretKernel(kernel, expected, {});
  return machines.map((options) => {
    const code = generateLoopKernel(kernel, options);
    const actual = Object.fromEntries(structuredClone(values));
    loadKernel(kernel, code).run(actual, {}, Math.min(parts, Number(code.workItems)));
    return { got: actual['out']!, wanted: expected.get('out')! };
  });
}

function expectClose(got: readonly number[], wanted: readonly number[]): void {
  const scale = wanted.reduce((max, x) => Math.max(max, Math.abs(x)), 1e-30);
  got.forEach((value, i) =>
    expect(Math.abs(value - wanted[i]!) / scale, `element ${i}`).toBeLessThan(2e-6),
  );
}

describe('products of one row with narrow weights', () => {
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
    expect(gemvProblem(kernel)).not.toBeNull();
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
    expect(gemvProblem({ ...kernel, stages: [{ kind: 'inner', body: most }, outer!] })).toBeNull();
    expect(gemvProblem(kernelOf({ ...made, columns: 4 }))).toBeNull();
  });
});
