/**
 * @file What a matmul kernel is, before code is made: its extents, the class that shares a tile, and the
 * kernels that are better made as reductions.
 */
import type { LoopKernel, MatmulKernel } from '@tessera/inductor-core';
import { extent } from './loop-vars.js';
import { contiguousAlongK, type Operand } from './matmul-operand.js';
import { matmulShapeClass, type MatmulShape } from './matmul-tiles.js';

/** Extents of a matmul kernel. */
export function matmulShape(kernel: MatmulKernel): MatmulShape {
  return {
    batch: extent(kernel.batch),
    m: extent(kernel.m),
    n: extent(kernel.n),
    k: extent(kernel.k),
  };
}

/** Kernels for which the same tile is best: shape class, order of the operands, type. */
export function matmulClass(kernel: MatmulKernel): string {
  const { batch, m, n, k, a, b, accDtype } = kernel;
  const order = (operand: Operand): string => (contiguousAlongK(operand) ? 'k' : 'x');
  const orders =
    order({ name: 'a', expr: a, batch, x: m, k }) + order({ name: 'b', expr: b, batch, x: n, k });
  return `${matmulShapeClass(matmulShape(kernel))}:${orders}:${accDtype}`;
}

/** Products with a vector are reductions: nothing is used twice, so tiles would not help. */
export function isMatrixVector(shape: MatmulShape): boolean {
  return shape.m === 1 || shape.n === 1;
}

/** The same product as a loop kernel that sums over k. */
export function matmulAsReduction(kernel: MatmulKernel): LoopKernel {
  const { name, params, scalars, accDtype } = kernel;
  return {
    kind: 'loop',
    name,
    params,
    scalars,
    outer: [...kernel.batch, ...kernel.m, ...kernel.n],
    inner: kernel.k,
    stages: [
      {
        kind: 'inner',
        body: [
          {
            kind: 'reduce',
            op: 'sum',
            ids: [0],
            dtype: accDtype,
            value: { kind: 'op', op: 'mul', dtype: accDtype, args: [kernel.a, kernel.b] },
          },
        ],
      },
      { kind: 'outer', body: kernel.epilogue },
    ],
  };
}
