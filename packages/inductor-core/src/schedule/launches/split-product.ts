/**
 * @file Deep, small products in two kernels.
 *
 * A product with few results and a long sum (the weight gradient of a large batch) gives the device too few
 * workgroups. Its sum is cut into pieces that run side by side as a batch, and a second kernel adds the
 * pieces and runs the epilogue. A sum whose length has no such divisor ends with zeros. A rewrite of the plan, before code is generated.
 */
import { IrBuilder } from '../../ir/build.js';
import type { LoopVar } from '../../ir/index-expr.js';
import type { FusedKernel, LoopKernel, MatmulKernel } from '../../ir/kernel.js';
import { rowMajor } from '../../ir/loop-vars.js';
import { isReduction, matmulShape, sumStages } from '../products/product-shape.js';
import {
  chooseMatmulTile,
  fastestTile,
  type ProductTarget,
  type ResultTile,
  tileGroups,
} from '../products/product-tiles.js';
import { addTime } from '../products/product-times.js';
import { shareOf } from '../products/result-share.js';
import type { Replacement } from './replace-kernels.js';
import { unusedName, usedParameters } from './used-parameters.js';

/** Fewest steps of the sum that make a piece worth a workgroup, where times were measured and elsewhere. */
const SMALLEST_PIECE = { timed: 128, other: 512 };
/**
 * Pieces that are not equal have a multiple of so many steps, which is whole slabs; at most so many of them are tried. And
 * the price of pieces that are not whole slabs, where each load asks whether its step counts (on an H200).
 */
const UNEQUAL = { steps: 32, most: 32, price: 1.05 };
/** Most bytes of partial sums. */
const MOST_BYTES = 96 * 2 ** 20;

/**
 * Pieces into which a kernel's sum should be cut; 1 to leave it whole.
 *
 * @param matrices the tile, where subgroups multiply matrices as a whole
 */
export function matmulPieces(
  kernel: MatmulKernel,
  target: ProductTarget,
  matrices: ResultTile | null = null,
): number {
  const shape = matmulShape(kernel);
  const results = shape.batch * shape.m * shape.n;
  if (isReduction(kernel) || shareOf(kernel) !== null || results === 0 || kernel.k.length === 0)
    return 1;
  const { size } = kernel.k[0]!;
  const timed = matrices === null && !target.software;
  const least = timed ? SMALLEST_PIECE.timed : SMALLEST_PIECE.other;
  const most = Math.min(
    target.parallelism,
    size,
    Math.floor(shape.k / least),
    Math.floor(MOST_BYTES / (4 * results)),
  );
  const choices = Array.from({ length: Math.max(0, most) }, (_, i) => i + 1).filter(
    (pieces) =>
      size % pieces === 0 || (timed && pieces <= UNEQUAL.most && leavesNone(size, pieces)),
  );
  if (!timed) {
    const groups = tileGroups(matrices ?? chooseMatmulTile(shape, target), shape);
    return choices.findLast((pieces) => pieces * groups <= target.parallelism) ?? 1;
  }
  const time = (pieces: number): number => {
    const k = (shape.k / size) * pieceLength(size, pieces);
    const { time: product } = fastestTile({ ...shape, batch: shape.batch * pieces, k }, target);
    const price = size % (pieces * UNEQUAL.steps) === 0 ? 1 : UNEQUAL.price;
    return product * price + (pieces === 1 ? 0 : addTime(results, pieces));
  };
  const times = choices.map(time);
  return choices[times.indexOf(Math.min(...times))] ?? 1;
}

/** Steps of a piece; where the pieces are not equal, the last has fewer that count. */
function pieceLength(size: number, pieces: number): number {
  return size % pieces === 0
    ? size / pieces
    : Math.ceil(size / pieces / UNEQUAL.steps) * UNEQUAL.steps;
}

/** Whether each piece has steps that count. */
function leavesNone(size: number, pieces: number): boolean {
  return (pieces - 1) * pieceLength(size, pieces) < size;
}

/** What stands for a deep product; null for other kernels. */
export function splitDeepProduct(
  kernel: FusedKernel,
  target: ProductTarget,
  matrices: ResultTile | null,
): Replacement<FusedKernel> | null {
  const pieces = kernel.kind === 'matmul' ? matmulPieces(kernel, target, matrices) : 1;
  if (kernel.kind !== 'matmul' || pieces === 1) return null;
  const { partial, sum, elements } = splitProduct(kernel, pieces);
  const { name, dtype } = partial.params.at(-1)!;
  return { kernels: [partial, sum], scratch: [{ name, dtype, numel: elements }] };
}

/** The two kernels, and the number of partial sums between them. */
export function splitProduct(
  kernel: MatmulKernel,
  pieces: number,
): { readonly partial: MatmulKernel; readonly sum: LoopKernel; readonly elements: number } {
  const e = new IrBuilder();
  const [first, ...rest] = kernel.k;
  const vars = [...kernel.batch, ...kernel.m, ...kernel.n];
  const piece: LoopVar = { name: unusedName([...vars, ...kernel.k], 'piece'), size: pieces };
  const steps: LoopVar = { name: first.name, size: pieceLength(first.size, pieces) };
  const place = e.add(
    e.scale(e.sym(piece.name, pieces), steps.size),
    e.sym(steps.name, steps.size),
  );
  const counts = e.op('lt', [e.index('int32', place), e.const('int32', first.size)]);
  const [a, b] = e
    .rewrite([kernel.a, kernel.b], { symbol: (name) => (name === first.name ? place : undefined) })
    .map((operand) =>
      pieces * steps.size === first.size ? operand : e.masked(counts, operand, 0),
    );
  const buffer = unusedName(kernel.params, 'partial');
  const index = rowMajor(e, [piece, ...vars]);
  const { accDtype } = kernel;
  const partial: MatmulKernel = {
    ...kernel,
    name: `${kernel.name}_partial`,
    ...usedParameters(kernel, [a, b], [], [{ name: buffer, dtype: accDtype, access: 'write' }]),
    batch: [piece, ...kernel.batch],
    k: [steps, ...rest],
    a,
    b,
    epilogue: [{ kind: 'store', buf: buffer, index, value: e.acc(accDtype, 0) }],
  };
  const sum: LoopKernel = {
    kind: 'loop',
    name: `${kernel.name}_sum`,
    ...usedParameters(kernel, [], kernel.epilogue, [
      { name: buffer, dtype: accDtype, access: 'read' },
    ]),
    outer: vars,
    inner: [piece],
    stages: sumStages(kernel, e.load(accDtype, buffer, index)),
  };
  return { partial, sum, elements: vars.reduce((n, v) => n * v.size, pieces) };
}
