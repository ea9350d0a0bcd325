/** @file One code for all sizes of matrix products, against the interpreter. */
import { IrBuilder, type Expr, type IndexExpr, type MatmulKernel } from '@tessera/inductor-core';
import {
  type Size,
  type SymInt,
  sizeAdd,
  sizeFloorDiv,
  sizeMul,
  sizeProduct,
} from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { describe, it } from 'vitest';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { expectSameAtAllSizes, loop, SIZES, symbols } from './symbolic-kernel.js';

interface Product {
  readonly batch: Size;
  readonly m: Size;
  readonly n: Size;
  readonly k: Size;
}

interface Options {
  readonly dtype?: DType;
  readonly form?: string;
  /** Operands that are expressions of what is loaded. */
  readonly wrapped?: boolean;
  readonly epilogue?: boolean;
  /** Operands are the last of so many matrices whose rows alternate, as the last step of a sequence of each image. */
  readonly steps?: Size;
}

function product({ batch, m, n, k }: Product, options: Options) {
  const { dtype = 'float32', form = 'NN', wrapped = false, epilogue = false, steps = 1 } = options;
  const ir = new IrBuilder();
  const [b, i, j, r] = [ir.sym('b', batch), ir.sym('m', m), ir.sym('n', n), ir.sym('k', k)];
  const matrix = (row: IndexExpr, rows: Size, col: IndexExpr, cols: Size): IndexExpr =>
    ir.add(ir.scale(b, sizeMul(rows, cols)), ir.scale(row, cols), col);
  const last = (row: IndexExpr, rows: Size, col: IndexExpr, cols: Size): IndexExpr =>
    ir.add(
      ir.scale(b, sizeProduct([rows, steps, cols])),
      ir.scale(row, sizeMul(steps, cols)),
      ir.size(sizeMul(sizeAdd(steps, -1), cols)),
      col,
    );
  const load = (name: string, index: IndexExpr): Expr => {
    const x = ir.load(dtype, name, index);
    return wrapped ? ir.op('add', [ir.op('mul', [x, x]), ir.const(dtype, 1)]) : x;
  };
  const stored = matrix(i, m, j, n);
  const acc = ir.acc(dtype, 0);
  const biased = ir.op('maximum', [
    ir.op('add', [acc, ir.load(dtype, 'bias', j)]),
    ir.const(dtype, 0),
  ]);
  const kernel: MatmulKernel<Size> = {
    kind: 'matmul',
    name: 'product',
    params: [
      { name: 'A', dtype, access: 'read' },
      { name: 'B', dtype, access: 'read' },
      ...(epilogue ? [{ name: 'bias', dtype, access: 'read' as const }] : []),
      { name: 'C', dtype, access: 'write' },
    ],
    scalars: [],
    batch: [loop('b', batch)],
    m: [loop('m', m)],
    n: [loop('n', n)],
    k: [loop('k', k)],
    a: load('A', form[0] === 'N' ? last(i, m, r, k) : last(r, k, i, m)),
    b: load('B', form[1] === 'N' ? last(r, k, j, n) : last(j, n, r, k)),
    accDtype: dtype,
    epilogue: [{ kind: 'store', buf: 'C', index: stored, value: epilogue ? biased : acc }],
  };
  const count = (...sizes: readonly Size[]): Size => sizeProduct([batch, ...sizes]);
  return {
    kernel,
    counts: { A: count(m, k, steps), B: count(k, n, steps), bias: n, C: count(m, n) },
  };
}

type Names = readonly SymInt[];
const PRODUCTS: Readonly<Record<string, (s: Names) => Product>> = {
  'symbolic rows': ([s]) => ({ batch: 1, m: s!, n: 24, k: 17 }),
  'symbolic rows and one column': ([s]) => ({ batch: 1, m: s!, n: 1, k: 17 }),
  'symbolic rows and few columns': ([s]) => ({ batch: 1, m: s!, n: 5, k: 33 }),
  'symbolic columns': ([s]) => ({ batch: 1, m: 13, n: s!, k: 17 }),
  'symbolic columns and one row': ([s]) => ({ batch: 1, m: 1, n: s!, k: 17 }),
  'symbolic columns that fill tiles': ([s]) => ({ batch: 1, m: 6, n: sizeMul(s!, 8), k: 5 }),
  'a symbolic depth': ([s]) => ({ batch: 1, m: 13, n: 24, k: s! }),
  'a symbolic depth and one row': ([s]) => ({ batch: 1, m: 1, n: 40, k: s! }),
  'a symbolic depth and two columns': ([s]) => ({ batch: 1, m: 30, n: 2, k: s! }),
  'a symbolic batch': ([s]) => ({ batch: s!, m: 5, n: 9, k: 7 }),
  'a symbolic batch of vectors': ([s]) => ({ batch: s!, m: 1, n: 9, k: 7 }),
  'scores of attention': ([s]) => ({ batch: 3, m: s!, n: s!, k: 16 }),
  'values of attention': ([s]) => ({ batch: 3, m: s!, n: 16, k: s! }),
  'a gradient of weights': ([s]) => ({ batch: 1, m: 12, n: 20, k: sizeMul(s!, 3) }),
};

describe('products for all sizes', () => {
  for (const [name, extentsOf] of Object.entries(PRODUCTS))
    for (const form of ['NN', 'NT', 'TN', 'TT'])
      it(`multiplies matrices with ${name}, ${form}`, () => {
        for (const wrapped of [false, true])
          for (const epilogue of [false, true])
            for (const relaxedSimd of new Set([false, hasRelaxedSimd()])) {
              const sizes = symbols(1);
              const { kernel, counts } = product(extentsOf(sizes), { form, wrapped, epilogue });
              const isPlain = !wrapped && !epilogue;
              const values = (isPlain ? SIZES : [2, 3, 5, 8, 31]).map((size) => [size]);
              expectSameAtAllSizes(kernel, { symbols: sizes, counts, values, relaxedSimd });
            }
      });

  for (const form of ['NN', 'NT', 'TN', 'TT'])
    it(`multiplies matrices of four symbolic sizes, ${form}`, () => {
      for (const wrapped of [false, true])
        for (const epilogue of [false, true]) {
          const sizes = symbols(4, 4, 8, 16, 32);
          const [batch, m, n, k] = sizes as [SymInt, SymInt, SymInt, SymInt];
          const { kernel, counts } = product({ batch, m, n, k }, { form, wrapped, epilogue });
          const small = SIZES.filter((size) => size <= 31);
          const values = small.map((_, i) => [
            2 + (i % 3),
            small[i]!,
            small[(i + 3) % small.length]!,
            small[(2 * i + 5) % small.length]!,
          ]);
          values.push([2, 129, 3, 5], [2, 3, 129, 5], [2, 5, 3, 800], [2, 66, 300, 9]);
          expectSameAtAllSizes(kernel, { symbols: sizes, counts, values });
        }
    });

  for (const form of ['NN', 'NT', 'TN', 'TT'])
    it(`multiplies matrices of known sizes whose strides vary, ${form}`, () => {
      for (const [m, n, k] of [
        [4, 2, 5],
        [2, 40, 17],
        [1, 9, 33],
        [13, 24, 17],
      ])
        for (const wrapped of [false, true])
          for (const epilogue of [false, true]) {
            const sizes = symbols(1);
            const options = { form, wrapped, epilogue, steps: sizes[0]! };
            const { kernel, counts } = product({ batch: 2, m: m!, n: n!, k: k! }, options);
            expectSameAtAllSizes(kernel, { symbols: sizes, counts, values: [[2], [3], [7], [16]] });
          }
    });

  for (const dtype of ['float64', 'int32', 'int64'] as const)
    for (const form of ['NN', 'NT', 'TN', 'TT'])
      it(`multiplies matrices of ${dtype}, ${form}`, () => {
        for (const extentsOf of Object.values(PRODUCTS))
          for (const epilogue of [form === 'NN', form === 'NT']) {
            const sizes = symbols(1);
            const { kernel, counts } = product(extentsOf(sizes), { form, dtype, epilogue });
            expectSameAtAllSizes(kernel, {
              symbols: sizes,
              counts,
              values: [[2], [3], [7], [16]],
            });
          }
      });

  for (const first of [8, 400])
    it(
      `multiplies matrices larger and smaller than those seen first, ${first}`,
      { timeout: 240_000 },
      () => {
        for (const extentsOf of Object.values(PRODUCTS)) {
          const sizes = symbols(1, first);
          const { kernel, counts } = product(extentsOf(sizes), { form: 'NT', epilogue: true });
          expectSameAtAllSizes(kernel, {
            symbols: sizes,
            counts,
            values: [[2], [3], [130], [400]],
          });
        }
      },
    );

  it('convolves as many images as there are, of any height and width', () => {
    for (const stride of [1, 2]) {
      const ir = new IrBuilder();
      const sizes = symbols(3, 2, 8, 8);
      const [images, height, width] = sizes as [SymInt, SymInt, SymInt];
      const [channels, out] = [3, 6];
      const extent = (size: Size): Size => sizeAdd(sizeFloorDiv(sizeAdd(size, -1), stride), 1);
      const [rows, cols] = [extent(height), extent(width)];
      const [oh, ow, kh, kw] = [
        ir.sym('oh', rows),
        ir.sym('ow', cols),
        ir.sym('kh', 3),
        ir.sym('kw', 3),
      ];
      const [img, o, c] = [ir.sym('img', images), ir.sym('o', out), ir.sym('c', channels)];
      const y = ir.add(ir.scale(oh, stride), kh, ir.int(-1));
      const x = ir.add(ir.scale(ow, stride), kw, ir.int(-1));
      const inside = (index: IndexExpr, size: Size): Expr => {
        const value = ir.index('int64', index);
        return ir.op('and', [
          ir.op('ge', [value, ir.const('int64', 0)]),
          ir.op('lt', [value, ir.index('int64', ir.size(size))]),
        ]);
      };
      const plane = sizeMul(height, width);
      const from = ir.add(
        ir.scale(img, sizeMul(plane, channels)),
        ir.scale(c, plane),
        ir.scale(y, width),
        x,
      );
      const area = sizeMul(rows, cols);
      const to = ir.add(
        ir.scale(img, sizeMul(area, out)),
        ir.scale(o, area),
        ir.scale(oh, cols),
        ow,
      );
      const kernel: MatmulKernel<Size> = {
        kind: 'matmul',
        name: 'convolution',
        params: ['X', 'W', 'Y'].map((name) => ({
          name,
          dtype: 'float32',
          access: name === 'Y' ? 'write' : 'read',
        })),
        scalars: [],
        batch: [loop('img', images)],
        m: [loop('oh', rows), loop('ow', cols)],
        n: [loop('o', out)],
        k: [loop('c', channels), loop('kh', 3), loop('kw', 3)],
        a: ir.masked(
          ir.op('and', [inside(y, height), inside(x, width)]),
          ir.load('float32', 'X', from),
          0,
        ),
        b: ir.load('float32', 'W', ir.add(ir.scale(o, 27), ir.scale(c, 9), ir.scale(kh, 3), kw)),
        accDtype: 'float32',
        epilogue: [{ kind: 'store', buf: 'Y', index: to, value: ir.acc('float32', 0) }],
      };
      expectSameAtAllSizes(kernel, {
        symbols: sizes,
        counts: {
          X: sizeProduct([images, plane, channels]),
          W: out * 27,
          Y: sizeProduct([images, area, out]),
        },
        values: [
          [2, 2, 2],
          [2, 3, 7],
          [3, 8, 8],
          [2, 9, 16],
          [4, 17, 5],
          [2, 31, 4],
          [2, 5, 64],
        ],
      });
    }
  });
});
