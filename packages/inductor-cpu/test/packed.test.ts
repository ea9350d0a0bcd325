/**
 * @file Elements of 8 bits in whole registers: every operation equals the interpreter's on all pairs of values, with a
 * tail, and where some of its users need 32-bit lanes.
 */
import {
  type Expr,
  IrBuilder,
  type LoopKernel,
  type ScalarOp,
  interpretKernel,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { loadKernel } from './load-kernel.js';

const COUNT = 65_536 + 21;
const VALUES: Readonly<Partial<Record<DType, (byte: number) => number>>> = {
  int8: (byte) => (byte << 24) >> 24,
  uint8: (byte) => byte & 255,
  bool: (byte) => byte & 1,
};

type Build = (ir: IrBuilder, a: Expr, b: Expr) => Expr;

/** out = f(x, y); wide = f(x, y) as a float. */
function expectExact(dtype: DType, build: Build): void {
  const ir = new IrBuilder();
  const i = ir.sym('i', COUNT);
  const value = build(ir, ir.load(dtype, 'x', i), ir.load(dtype, 'y', i));
  const kernel: LoopKernel = {
    kind: 'loop',
    name: 'bytes',
    params: [
      { name: 'x', dtype, access: 'read' },
      { name: 'y', dtype, access: 'read' },
      { name: 'out', dtype: value.dtype, access: 'write' },
      { name: 'wide', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    outer: [{ name: 'i', size: COUNT }],
    inner: [],
    stages: [
      {
        kind: 'outer',
        body: [
          { kind: 'store', buf: 'out', index: i, value },
          { kind: 'store', buf: 'wide', index: i, value: ir.cast(value, 'float32') },
        ],
      },
    ],
  };
  const of = VALUES[dtype]!;
  const buffers = (): Record<string, number[]> => ({
    x: Array.from({ length: COUNT }, (_, k) => of(k)),
    y: Array.from({ length: COUNT }, (_, k) => of(k >> 8)),
    out: new Array<number>(COUNT).fill(0),
    wide: new Array<number>(COUNT).fill(0),
  });
  const [got, wanted] = [buffers(), buffers()];
  loadKernel(kernel, generateLoopKernel(kernel, { relaxedSimd: false })).run(got);
  interpretKernel(kernel, wanted, {});
  const off = got.out!.findIndex(
    (x, k) => x !== wanted.out![k] || got.wide![k] !== wanted.wide![k],
  );
  expect(off, `(${got.x![off]}, ${got.y![off]}) → ${got.out![off]}, not ${wanted.out![off]}`).toBe(
    -1,
  );
}

const op =
  (name: ScalarOp, operands = 2): Build =>
  (ir, a, b) =>
    ir.op(name, [a, b].slice(0, operands));
const COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const;
const BOTH: readonly (readonly [string, Build])[] = [
  ...(['and', 'or', 'xor', 'maximum', 'minimum', ...COMPARISONS] as const).map(
    (name) => [name, op(name)] as const,
  ),
  ['not', op('not', 1)],
  ['where', (ir, a, b) => ir.op('where', [ir.op('lt', [a, b]), b, a])],
  ['a move', (_, a) => a],
];
const CONSTANT = (ir: IrBuilder, dtype: DType): Expr => ir.const(dtype, 3);
const NUMBERS: readonly (readonly [string, Build])[] = [
  ...(['add', 'sub', 'mul'] as const).map((name) => [name, op(name)] as const),
  ...(['neg', 'abs', 'square'] as const).map((name) => [name, op(name, 1)] as const),
  ['a + 3', (ir, a) => ir.op('add', [a, CONSTANT(ir, a.dtype)])],
  ['min(a, 3)', (ir, a) => ir.op('minimum', [a, CONSTANT(ir, a.dtype)])],
  ['a < 3', (ir, a) => ir.op('lt', [a, CONSTANT(ir, a.dtype)])],
  [
    'a sum of 32 bits that is compared',
    (ir, a, b) =>
      ir.op('gt', [
        ir.op('add', [ir.cast(a, 'int32'), ir.cast(b, 'int32')]),
        ir.const('int32', 100),
      ]),
  ],
  [
    'a sum of 32 bits that is halved',
    (ir, a, b) =>
      ir.cast(
        ir.op('shr', [
          ir.op('add', [ir.cast(a, 'int32'), ir.cast(b, 'int32')]),
          ir.const('int32', 1),
        ]),
        a.dtype,
      ),
  ],
  ['a bool', (ir, a) => ir.cast(a, 'bool')],
  ['a bool times b', (ir, a, b) => ir.op('mul', [ir.cast(ir.cast(a, 'bool'), b.dtype), b])],
  ['other bytes', (ir, a) => ir.cast(a, a.dtype === 'int8' ? 'uint8' : 'int8')],
  [
    'an order of bytes of both kinds',
    (ir, a, b) =>
      ir.op('lt', [
        ir.cast(a, 'int32'),
        ir.cast(ir.cast(b, a.dtype === 'int8' ? 'uint8' : 'int8'), 'int32'),
      ]),
  ],
];

describe('operations on bytes', () => {
  for (const dtype of ['int8', 'uint8', 'bool'] as const)
    for (const [name, build] of dtype === 'bool' ? BOTH : [...BOTH, ...NUMBERS])
      it(`${name}, ${dtype}`, () => {
        expectExact(dtype, build);
      });

  it('are one instruction for sixteen elements, sums in 32 bits that are wrapped too', () => {
    const ir = new IrBuilder();
    const i = ir.sym('i', 4096);
    const value = ir.op('add', [
      ir.load('int8', 'x', i),
      ir.load('int8', 'x', ir.add(i, ir.int(16))),
    ]);
    const kernel: LoopKernel = {
      kind: 'loop',
      name: 'bytes',
      params: [
        { name: 'x', dtype: 'int8', access: 'read' },
        { name: 'out', dtype: 'int8', access: 'write' },
      ],
      scalars: [],
      outer: [{ name: 'i', size: 4096 }],
      inner: [],
      stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value }] }],
    };
    const text = printFunctionWithDependencies(
      generateLoopKernel(kernel, { relaxedSimd: false }).func,
    );
    expect(text).toContain('i8x16.add');
    expect(text).not.toMatch(/i32x4|extend|shl/);
  });
});
