/** @file Products of many rows with packed weights: columns are taken apart word by word, as the interpreter says. */
import {
  type Expr,
  type MatmulKernel,
  scheduleProductBlocks,
  wordParts,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../src/loops/cpu-target.js';
import { bufferSizes, type Case, digitsOf, ir, numbers, weightOf, weights } from './gemv-kernel.js';
import { at } from './matmul-kernel.js';
import { compareWithInterpreter } from './run-kernel.js';

type Rows = Case & { readonly rows: number };

/** `out[m, n] = Σ x[m, k] · weight(n, k)`; `changed` makes another weight of it. */
function productOf(made: Rows, changed: (weight: Expr) => Expr = (weight) => weight): MatmulKernel {
  const { format, rows, columns, depth } = made;
  const digits = digitsOf(made);
  const dtype: DType = format.startsWith('int') ? 'int32' : (format as DType);
  const place: Record<string, number> = { m: depth };
  let unit = 1;
  for (const [name, size] of Object.entries(digits).toReversed()) {
    place[name] = unit;
    unit *= size;
  }
  return {
    kind: 'matmul',
    name: 'product',
    params: [
      { name: 'x', dtype: 'float32', access: 'read' },
      { name: weights(format, 0), dtype, access: 'read' },
      { name: 's0', dtype: 'float32', access: 'read' },
      { name: 'out', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    batch: [],
    m: [{ name: 'm', size: rows }],
    n: [{ name: 'n', size: columns }],
    k: Object.entries(digits).map(([name, size]) => ({ name, size })),
    a: ir.load('float32', 'x', at(place)),
    b: changed(weightOf(made, 0)),
    accDtype: 'float32',
    epilogue: [
      {
        kind: 'store',
        buf: 'out',
        index: at({ m: columns, n: 1 }),
        value: ir.acc('float32', 0),
      },
    ],
  };
}

const isPacked = (kernel: MatmulKernel): boolean => {
  const [product] = scheduleProductBlocks(kernel, CPU_TARGET, wordParts).products!;
  const { layout } = product!.b;
  return layout.kind === 'panels' && 'words' in layout.from;
};

/** Largest difference from the interpreter. */
function difference(made: Rows, kernel: MatmulKernel): number {
  const { x, w, s, out } = bufferSizes(made);
  const name = weights(made.format, 0);
  const words = numbers(w!, 'int32', 5);
  return compareWithInterpreter(
    kernel,
    { x: x!, [name]: w!, s0: s!, out: out! },
    [],
    (values) => made.format.startsWith('int') && values.set(name, words),
  );
}

const PACKED = ['int8', 'int8s', 'int4'] as const;

describe('products of many rows with packed weights', () => {
  for (const format of PACKED)
    it.each([
      [4, 8, 32],
      [17, 9, 64],
      [19, 50, 96],
      [33, 131, 64],
      [130, 12, 800],
    ])(
      `take ${format} apart word by word: %i rows, %i columns, depth %i`,
      (rows, columns, depth) => {
        const made = { format, rows, columns, depth };
        const kernel = productOf(made);
        expect(isPacked(kernel)).toBe(true);
        // Bytes reach 128, so sums of whole numbers round.
        expect(difference(made, kernel)).toBeLessThan(2e-6);
      },
    );

  it('take groups of fewer than four words apart', () => {
    const made = { format: 'int8s', rows: 20, columns: 21, depth: 96, group: 8 } as const;
    expect(isPacked(productOf(made))).toBe(true);
    expect(difference(made, productOf(made))).toBeLessThan(2e-6);
  });

  it('evaluate columns whose loads depend on the part as they do others', () => {
    const made = { format: 'int8s', rows: 20, columns: 24, depth: 64 } as const;
    const kernel = productOf(made, (weight) =>
      ir.op('mul', [weight, ir.load('float32', 's0', at({ k2: 1 }))]),
    );
    expect(isPacked(kernel)).toBe(false);
    expect(difference(made, kernel)).toBeLessThan(2e-6);
  });

  it('read 16-bit floats four k at a time', () => {
    for (const format of ['float16', 'bfloat16'] as const) {
      const made = { format, rows: 18, columns: 45, depth: 70 };
      const kernel = productOf(made);
      expect(isPacked(kernel)).toBe(false);
      expect(difference(made, kernel)).toBeLessThan(2e-6);
    }
  });
});
