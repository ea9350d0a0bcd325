/** @file One code for all sizes of pointwise kernels, against the interpreter. */
import { IrBuilder, type Expr, type IndexExpr, type Stage } from '@tessera/inductor-core';
import { type Size, sizeAdd, sizeMul } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { describe, it } from 'vitest';
import { expectSameAtAllSizes, loop, symbolicLoop, symbols } from './symbolic-kernel.js';

function stored(index: IndexExpr, value: Expr): Stage[] {
  return [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index, value }] }];
}

const DTYPES: readonly DType[] = [
  'float32',
  'float64',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
];

describe('pointwise code for all sizes', () => {
  for (const dtype of DTYPES)
    it(`copies rows in reverse, ${dtype}`, () => {
      const ir = new IrBuilder();
      const [n] = symbols(1);
      const i = ir.sym('i', n);
      const from = ir.sub(ir.size(sizeAdd(n!, -1)), i);
      const kernel = symbolicLoop({
        outer: [loop('i', n!)],
        stages: stored(i, ir.load(dtype, 'x', from)),
        params: { x: [dtype, 'read'], out: [dtype, 'write'] },
      });
      expectSameAtAllSizes(kernel, { symbols: [n!], counts: { x: n!, out: n! } });
    });

  const layouts: readonly (readonly [string, (n: Size, m: Size) => readonly [Size, Size]])[] = [
    ['a static inner size', (n) => [n, 12]],
    ['a static inner size that fills no vectors', (n) => [n, 7]],
    ['a static inner size of one row', (n) => [n, 1]],
    ['a symbolic inner size', (n) => [9, n]],
    ['two symbolic sizes', (n, m) => [n, m]],
    ['a size that is a multiple', (n, m) => [m, sizeMul(n, 4)]],
    ['a size that is a sum', (n, m) => [sizeAdd(n, m), sizeAdd(n, 1)]],
  ];
  for (const [name, sizesOf] of layouts) {
    it(`adds a row and a column to a matrix with ${name}`, () => {
      const ir = new IrBuilder();
      const [n, m] = symbols(2);
      const [rows, cols] = sizesOf(n!, m!);
      const [i, j] = [ir.sym('i', rows), ir.sym('j', cols)];
      const at = ir.add(ir.scale(i, cols), j);
      const value = ir.op('add', [
        ir.op('add', [ir.load('float32', 'x', at), ir.load('float32', 'row', j)]),
        ir.op('exp', [ir.load('float32', 'column', i)]),
      ]);
      const kernel = symbolicLoop({
        outer: [loop('i', rows), loop('j', cols)],
        stages: stored(at, value),
        params: {
          x: ['float32', 'read'],
          row: ['float32', 'read'],
          column: ['float32', 'read'],
          out: ['float32', 'write'],
        },
      });
      const count = sizeMul(rows, cols);
      expectSameAtAllSizes(kernel, {
        symbols: [n!, m!],
        counts: { x: count, row: cols, column: rows, out: count },
      });
    });

    for (const dtype of ['float32', 'float64', 'int8'] as const)
      it(`transposes a matrix with ${name}, ${dtype}`, () => {
        const ir = new IrBuilder();
        const [n, m] = symbols(2);
        const [rows, cols] = sizesOf(n!, m!);
        const [i, j] = [ir.sym('i', rows), ir.sym('j', cols)];
        const kernel = symbolicLoop({
          outer: [loop('i', rows), loop('j', cols)],
          stages: stored(
            ir.add(ir.scale(i, cols), j),
            ir.load(dtype, 'x', ir.add(ir.scale(j, rows), i)),
          ),
          params: { x: [dtype, 'read'], out: [dtype, 'write'] },
        });
        const count = sizeMul(rows, cols);
        expectSameAtAllSizes(kernel, { symbols: [n!, m!], counts: { x: count, out: count } });
      });

    it(`numbers the elements of a matrix with ${name}`, () => {
      const ir = new IrBuilder();
      const [n, m] = symbols(2);
      const [rows, cols] = sizesOf(n!, m!);
      const [i, j] = [ir.sym('i', rows), ir.sym('j', cols)];
      const at = ir.add(ir.scale(i, cols), j);
      const kernel = symbolicLoop({
        outer: [loop('i', rows), loop('j', cols)],
        stages: stored(at, ir.index('int64', ir.add(ir.scale(j, rows), i, ir.size(n!)))),
        params: { out: ['int64', 'write'] },
      });
      expectSameAtAllSizes(kernel, {
        symbols: [n!, m!],
        counts: { out: sizeMul(rows, cols) },
      });
    });

    it(`divides flat positions by sizes of a matrix with ${name}`, () => {
      const ir = new IrBuilder();
      const [n, m] = symbols(2);
      const [rows, cols] = sizesOf(n!, m!);
      const flat = ir.sym('i', sizeMul(rows, cols));
      const [row, col] = [ir.div(flat, cols), ir.mod(flat, cols)];
      const value = ir.op('add', [
        ir.load('float32', 'x', ir.add(ir.scale(col, rows), row)),
        ir.load('float32', 'row', col),
      ]);
      const kernel = symbolicLoop({
        outer: [loop('i', sizeMul(rows, cols))],
        stages: stored(flat, value),
        params: { x: ['float32', 'read'], row: ['float32', 'read'], out: ['float32', 'write'] },
      });
      const count = sizeMul(rows, cols);
      expectSameAtAllSizes(kernel, {
        symbols: [n!, m!],
        counts: { x: count, row: cols, out: count },
      });
    });

    it(`pads a matrix with ${name}`, () => {
      const ir = new IrBuilder();
      const [n, m] = symbols(2);
      const [rows, cols] = sizesOf(n!, m!);
      const wide = sizeAdd(cols, 5);
      const [i, j] = [ir.sym('i', rows), ir.sym('j', wide)];
      const from = ir.add(j, ir.int(-2));
      const at = ir.index('int32', from);
      const inside = ir.op('and', [
        ir.op('ge', [at, ir.const('int32', 0)]),
        ir.op('lt', [at, ir.index('int32', ir.size(cols))]),
      ]);
      const load = ir.load('float32', 'x', ir.add(ir.scale(i, cols), from));
      const kernel = symbolicLoop({
        outer: [loop('i', rows), loop('j', wide)],
        stages: stored(ir.add(ir.scale(i, wide), j), ir.masked(inside, load, 7)),
        params: { x: ['float32', 'read'], out: ['float32', 'write'] },
      });
      expectSameAtAllSizes(kernel, {
        symbols: [n!, m!],
        counts: { x: sizeMul(rows, cols), out: sizeMul(rows, wide) },
      });
    });

    it(`gathers rows of a matrix with ${name}, and stores them where numbers say`, () => {
      const ir = new IrBuilder();
      const [n, m] = symbols(2);
      const [rows, cols] = sizesOf(n!, m!);
      const [i, j] = [ir.sym('i', rows), ir.sym('j', cols)];
      const from = ir.value(ir.load('int64', 'from', i));
      const to = ir.value(ir.load('int32', 'to', i));
      const kernel = symbolicLoop({
        outer: [loop('i', rows), loop('j', cols)],
        stages: stored(
          ir.add(ir.scale(to, cols), j),
          ir.load('float32', 'x', ir.add(ir.scale(from, cols), j)),
        ),
        params: {
          x: ['float32', 'read'],
          from: ['int64', 'read'],
          to: ['int32', 'read'],
          out: ['float32', 'write'],
        },
      });
      const count = sizeMul(rows, cols);
      expectSameAtAllSizes(kernel, {
        symbols: [n!, m!],
        counts: { x: count, from: rows, to: rows, out: count },
        fill: (buffer, k, valueOf) => {
          if (buffer === 'from') return (7 * k + 1) % valueOf(rows);
          return buffer === 'to' ? valueOf(rows) - 1 - k : undefined;
        },
      });
    });
  }
});
