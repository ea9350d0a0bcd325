/**
 * @file Matrix products and convolutions for tests, as kernels.
 */
import {
  IrBuilder,
  type Expr,
  type IndexExpr,
  type LoopVar,
  type MatmulKernel,
  type Stmt,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { Sizes } from './run-kernel.js';

/** What the kernels of this file are built with. */
export const ir: IrBuilder = new IrBuilder();

/** `constant + Σ coefficient · variable`. */
export function at(terms: Readonly<Record<string, number>>, constant = 0): IndexExpr {
  const parts = Object.entries(terms).map(([name, coefficient]) =>
    ir.scale(ir.sym(name), coefficient),
  );
  return ir.add(...parts, ir.int(constant));
}

function vars(sizes: Readonly<Record<string, number>>): LoopVar[] {
  return Object.entries(sizes).map(([name, size]) => ({ name, size }));
}

/** Sizes of a product. */
export interface Shape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch?: number;
}

interface Options {
  readonly dtype?: DType;
  /** T: the operand's lines are adjacent in memory; N: its k are. */
  readonly form?: 'NN' | 'NT' | 'TN' | 'TT';
  readonly epilogue?: (acc: Expr) => Stmt[];
  readonly extra?: MatmulKernel['params'];
  readonly scalars?: MatmulKernel['scalars'];
}

/** A product of contiguous matrices `A[m, k]` and `B[k, n]` (or transposed), into `C[m, n]`. */
export function matmul(
  { m, n, k, batch = 1 }: Shape,
  options: Options = {},
): { kernel: MatmulKernel; sizes: Sizes } {
  const { dtype = 'float32', form = 'NN' } = options;
  const stored = at({ b: m * n, m: n, n: 1 });
  const acc = ir.acc(dtype, 0);
  const kernel: MatmulKernel = {
    kind: 'matmul',
    name: 'matmul',
    params: [
      { name: 'A', dtype, access: 'read' },
      { name: 'B', dtype, access: 'read' },
      { name: 'C', dtype, access: 'write' },
      ...(options.extra ?? []),
    ],
    scalars: options.scalars ?? [],
    batch: vars({ b: batch }),
    m: vars({ m }),
    n: vars({ n }),
    k: vars({ k }),
    a: ir.load(
      dtype,
      'A',
      at(form[0] === 'N' ? { b: m * k, m: k, k: 1 } : { b: m * k, k: m, m: 1 }),
    ),
    b: ir.load(
      dtype,
      'B',
      at(form[1] === 'N' ? { b: n * k, k: n, n: 1 } : { b: n * k, n: k, k: 1 }),
    ),
    accDtype: dtype,
    epilogue: options.epilogue?.(acc) ?? [{ kind: 'store', buf: 'C', index: stored, value: acc }],
  };
  return { kernel, sizes: { A: batch * m * k, B: batch * n * k, C: batch * m * n } };
}

/** Sizes of a convolution; images, channels, outputs. */
export interface Conv {
  readonly batch: number;
  readonly channels: number;
  readonly out: number;
  readonly height: number;
  readonly width: number;
  readonly kernel: number;
  readonly stride: number;
  readonly pad: number;
}

/** The masked image element that output position (oh, ow) reads for (c, kh, kw). */
function imageElement({ channels, height, width, stride, pad }: Conv): Expr {
  const y = ir.add(ir.scale(ir.sym('oh'), stride), ir.sym('kh'), ir.int(-pad));
  const x = ir.add(ir.scale(ir.sym('ow'), stride), ir.sym('kw'), ir.int(-pad));
  const inside = (index: IndexExpr, size: number): Expr => {
    const value = ir.index('int64', index);
    return ir.op('and', [
      ir.op('ge', [value, ir.const('int64', 0)]),
      ir.op('lt', [value, ir.const('int64', size)]),
    ]);
  };
  const index = ir.add(
    at({ img: channels * height * width, c: height * width }),
    ir.scale(y, width),
    x,
  );
  const load = ir.load('float32', 'X', index);
  return pad === 0 ? load : ir.masked(ir.op('and', [inside(y, height), inside(x, width)]), load, 0);
}

/** A convolution with bias and ReLU, as an implicit product. */
export function convForward(conv: Conv): { kernel: MatmulKernel; sizes: Sizes } {
  const { batch, channels, out, height, width, kernel: size, stride, pad } = conv;
  const oh = Math.floor((height + 2 * pad - size) / stride) + 1;
  const ow = Math.floor((width + 2 * pad - size) / stride) + 1;
  const acc = ir.acc('float32', 0);
  const bias = ir.load('float32', 'bias', at({ o: 1 }));
  return {
    kernel: {
      kind: 'matmul',
      name: 'conv',
      params: ['X', 'W', 'bias', 'Y'].map((name) => ({
        name,
        dtype: 'float32',
        access: name === 'Y' ? 'write' : 'read',
      })),
      scalars: [],
      batch: vars({ img: batch }),
      m: vars({ oh, ow }),
      n: vars({ o: out }),
      k: vars({ c: channels, kh: size, kw: size }),
      a: imageElement(conv),
      b: ir.load(
        'float32',
        'W',
        at({ o: channels * size * size, c: size * size, kh: size, kw: 1 }),
      ),
      accDtype: 'float32',
      epilogue: [
        {
          kind: 'store',
          buf: 'Y',
          index: at({ img: out * oh * ow, o: oh * ow, oh: ow, ow: 1 }),
          value: ir.op('maximum', [ir.op('add', [acc, bias]), ir.const('float32', 0)]),
        },
      ],
    },
    sizes: {
      X: batch * channels * height * width,
      W: out * channels * size * size,
      bias: out,
      Y: batch * out * oh * ow,
    },
  };
}

/** Gradient of the weights: rows are output channels, columns (c, kh, kw), k runs over images and positions. */
export function convWeightGradient(conv: Conv): { kernel: MatmulKernel; sizes: Sizes } {
  const { batch, channels, out, height, width, kernel: size, stride, pad } = conv;
  const oh = Math.floor((height + 2 * pad - size) / stride) + 1;
  const ow = Math.floor((width + 2 * pad - size) / stride) + 1;
  return {
    kernel: {
      kind: 'matmul',
      name: 'conv_grad',
      params: ['X', 'G', 'W'].map((name) => ({
        name,
        dtype: 'float32',
        access: name === 'W' ? 'write' : 'read',
      })),
      scalars: [],
      batch: [],
      m: vars({ o: out }),
      n: vars({ c: channels, kh: size, kw: size }),
      k: vars({ img: batch, oh, ow }),
      a: ir.load('float32', 'G', at({ img: out * oh * ow, o: oh * ow, oh: ow, ow: 1 })),
      b: imageElement(conv),
      accDtype: 'float32',
      epilogue: [
        {
          kind: 'store',
          buf: 'W',
          index: at({ o: channels * size * size, c: size * size, kh: size, kw: 1 }),
          value: ir.acc('float32', 0),
        },
      ],
    },
    sizes: {
      X: batch * channels * height * width,
      G: batch * out * oh * ow,
      W: out * channels * size * size,
    },
  };
}
