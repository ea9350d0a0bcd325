/**
 * @file What a matmul kernel is, before code is made: its extents, the class that shares a tile, and the
 * kernels that are better made as reductions.
 */
import { type Size, sizeHint } from '@tessera/shared';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { LoopKernel, MatmulKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import { contiguousAlongK, type ProductOperand } from './operand-order.js';
import { matmulShapeClass, type MatmulShape } from './product-tiles.js';

/** Extents of a matmul kernel; as the example has them where they are symbolic: for what is a matter of speed. */
export function matmulShape(kernel: MatmulKernel<Size>): MatmulShape {
  return {
    batch: sizeHint(extent(kernel.batch)),
    m: sizeHint(extent(kernel.m)),
    n: sizeHint(extent(kernel.n)),
    k: sizeHint(extent(kernel.k)),
  };
}

/** Kernels for which the same tile is best: shape class, order of the operands, type. */
export function matmulClass(kernel: MatmulKernel<Size>): string {
  const { batch, m, n, k, a, b, accDtype } = kernel;
  const order = (operand: ProductOperand): string => (contiguousAlongK(operand) ? 'k' : 'x');
  const orders =
    order({ name: 'a', expr: a, batch, x: m, k }) + order({ name: 'b', expr: b, batch, x: n, k });
  return `${matmulShapeClass(matmulShape(kernel))}:${orders}:${accDtype}`;
}

/**
 * Whether a product is made as a reduction: with a vector, as nothing is used twice, so tiles would not help; of int64, as
 * only reductions notice what does not fit.
 */
export function isReduction({
  m,
  n,
  accDtype,
}: Pick<MatmulKernel<Size>, 'm' | 'n' | 'accDtype'>): boolean {
  return extent(m) === 1 || extent(n) === 1 || accDtype === 'int64';
}

/** The stages of a loop that sums a value, and then does what comes behind the products of a kernel. */
export function sumStages(
  { accDtype, epilogue }: MatmulKernel<Size>,
  value: Expr,
): LoopKernel<Size>['stages'] {
  const sum: Stmt = { kind: 'reduce', op: 'sum', ids: [0], dtype: accDtype, value };
  return [
    { kind: 'inner', body: [sum] },
    { kind: 'outer', body: epilogue },
  ];
}

/** The same product as a loop kernel that sums over k. */
export function matmulAsReduction(kernel: MatmulKernel<Size>): LoopKernel<Size> {
  const { name, params, scalars, accDtype: dtype, batch, m, n, k, a, b } = kernel;
  return {
    kind: 'loop',
    name,
    params,
    scalars,
    outer: [...batch, ...m, ...n],
    inner: k,
    stages: sumStages(kernel, { kind: 'op', op: 'mul', dtype, args: [a, b] }),
  };
}
