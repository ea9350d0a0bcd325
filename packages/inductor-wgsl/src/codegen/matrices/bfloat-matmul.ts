/**
 * @file Products of bfloat16 matrices by subgroup matrices of float16: a rewrite of the plan.
 *
 * A bfloat16 has 8 significant bits and a float16 has 11. So the values of a row are exact in float16, but for a power
 * of two, if the least of them is not smaller than the largest by more than 2²⁹. Each row of the left factor, and each
 * column of the right one, gets a power of two of its own; products of such float16 values are exact, as products of
 * the bfloat16 values are in float32, and results are multiplied by both powers again. Rows whose values lie further
 * apart, or are infinite or NaN, are left to a second product, in float32 as ever.
 */
import {
  type BufferParam,
  type Expr,
  type FusedKernel,
  IrBuilder,
  isReduction,
  type MatmulKernel,
  matmulPieces,
  matmulShape,
  type PartialMatmul,
  postorder,
  type Replacement,
  ResultShare,
  stmtRoots,
  usedParameters,
} from '@tessera/inductor-core';
import { BfloatFactor, type Scratch } from './bfloat-factor.js';
import { matrixTile } from './matrix-tiles.js';
import type { WgslTarget } from '../target.js';

/** Operations (two for each product) that are worth the other kernels, and those for each value that is converted (ADR 8). */
const ENOUGH = { inAll: 2 ** 31, each: 192 };
/** Most values of a converted factor: they take memory. */
const MOST_VALUES = 2 ** 27;
/** Pieces into which a product of such shape would be cut, and is not: it takes so much longer. */
const MOST_PIECES = 2;
/** Whether a value is a bfloat16, widened or not. */
function isBfloat(expr: Expr): boolean {
  const isCast = expr.kind === 'op' && expr.op === 'cast';
  if (expr.dtype === 'bfloat16') return isCast || expr.kind === 'load';
  return isCast && expr.dtype === 'float32' && isBfloat(expr.args[0]!);
}

/** What stands for a large product of bfloat16 matrices on a device with subgroup matrices; null for other kernels. */
export function bfloatProduct(
  kernel: FusedKernel,
  target: WgslTarget,
): Replacement<FusedKernel> | null {
  if (kernel.kind !== 'matmul' || target.matrices === null || !isBfloatProduct(kernel)) return null;
  const { batch, m, n, k } = matmulShape(kernel);
  const { product, ...replacement } = inHalves(kernel);
  const values = replacement.scratch.flatMap(({ dtype, numel }) =>
    dtype === 'float16' ? [numel] : [],
  );
  const least = Math.max(ENOUGH.inAll, ENOUGH.each * (values[0] + values[1]));
  const tile = matrixTile(product, target);
  const pays =
    2 * batch * m * n * k >= least &&
    values.every((count) => count <= MOST_VALUES) &&
    replacement.kernels.every(({ params }) => params.length <= target.maxStorageBuffers) &&
    tile !== null &&
    matmulPieces(product, target, tile) <= MOST_PIECES;
  return pays ? replacement : null;
}

/** The kernels of a product that `isBfloatProduct` accepts; `product` is the one of halves, as if it made all results. */
export function inHalves(
  kernel: MatmulKernel,
): Replacement<FusedKernel> & { readonly product: MatmulKernel } {
  const e = new IrBuilder();
  const [a, b] = [new BfloatFactor(e, kernel, 'a'), new BfloatFactor(e, kernel, 'b')];
  const factor = e.op('mul', [a.factor(), b.factor()]);
  const epilogue = kernel.epilogue.map((stmt) => {
    if (stmt.kind !== 'store') return stmt;
    const [value] = e.rewrite([stmt.value], {
      acc: ({ dtype, id }) => e.op('mul', [e.acc(dtype, id), factor]),
    });
    return { ...stmt, value };
  });
  const read = (buffer: Scratch): BufferParam => ({ ...buffer, access: 'read' });
  const scales = [read(a.scale), read(b.scale)];
  const stored = usedParameters(kernel, [], kernel.epilogue);
  const product: MatmulKernel = {
    ...kernel,
    name: `${kernel.name}_halves`,
    params: [read(a.packed), read(b.packed), ...scales, ...stored.params],
    scalars: stored.scalars,
    a: a.half(),
    b: b.half(),
    epilogue,
  };
  const rest = { ...kernel, name: `${kernel.name}_rest`, params: [...kernel.params, ...scales] };
  const [rows, columns] = [a.isLeft(), b.isLeft()];
  const shared = (part: MatmulKernel, of: 'first' | 'rest'): PartialMatmul => ({
    ...part,
    share: new ResultShare(of, rows, columns),
  });
  return {
    kernels: [...a.kernels(), ...b.kernels(), shared(product, 'first'), shared(rest, 'rest')],
    scratch: [...a.scratch(), ...b.scratch()],
    product,
  };
}

/** Products of bfloat16 values whose epilogues may be emitted twice. */
export function isBfloatProduct(kernel: MatmulKernel): boolean {
  const { a, b, accDtype, epilogue } = kernel;
  return (
    accDtype === 'float32' &&
    kernel.k.length > 0 &&
    !isReduction(kernel) &&
    isBfloat(a) &&
    isBfloat(b) &&
    postorder([a, b, ...epilogue.flatMap(stmtRoots)]).every(({ kind }) => kind !== 'check')
  );
}
