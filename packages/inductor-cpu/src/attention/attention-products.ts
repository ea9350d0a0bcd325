/**
 * @file The products of an attention kernel in blocks: scores of a block of rows and columns, and sums of values.
 */
import { type AttentionBlocks, type AttentionKernel, extent } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { KernelOptions } from '../body/size-slots.js';
import { roundUp } from '../matmul/blocking.js';
import { directAccess, expressionAccess, panelAccess } from '../matmul/gemm-operands.js';
import type { OperandAccess } from '../matmul/gemm-operands.js';
import { isAdjacentInDepth } from '../matmul/blocking.js';
import { microKernel } from '../matmul/micro-kernel.js';
import { Tiles, type TiledProduct } from '../matmul/multiply-block.js';
import { type MatmulProblem, problemOf } from '../matmul/problem.js';

/** Rows and vectors of a tile of registers. */
const TILE = { tileRows: 4, tileVectors: 2 };

/** Bytes between rows of scores, or of sums, that are a block long: rows do not compete for the same lines of the cache. */
export function pitchOf(elements: number, bytes: number): number {
  return (roundUp(elements, 8) + 16) * bytes;
}

/** A product whose blocks are multiplied. */
export interface BlockProduct {
  readonly problem: MatmulProblem;
  readonly a: OperandAccess;
  readonly b: OperandAccess;
  readonly tiled: TiledProduct;
  readonly tiles: Tiles;
}

function blockProduct(
  problem: MatmulProblem,
  [a, b]: readonly [OperandAccess, OperandAccess],
  tiled: Pick<TiledProduct, 'problem' | 'output'>,
  options: KernelOptions,
): BlockProduct {
  const tiles = new Tiles((rows, vectors) =>
    microKernel({
      type: problem.type,
      relaxed: options.relaxedSimd,
      rows,
      vectors,
      aRow: a.strides.line,
      aStep: rows === TILE.tileRows ? a.strides.step : a.strides.tailStep,
      bStep: vectors === TILE.tileVectors ? b.strides.step : b.strides.tailStep,
      cRow: tiled.output.rowBytes,
    }),
  );
  return {
    problem,
    a,
    b,
    tiles,
    tiled: { ...tiled, blocking: TILE, columns: { tail: 'one' }, a, b },
  };
}

/** Score `p` of a block: all of its factors are multiplied at once. */
export function scoreProduct(
  kernel: AttentionKernel<Size>,
  p: number,
  { rows, columns }: AttentionBlocks,
  options: KernelOptions,
): BlockProduct {
  const { m, j, k, triangle } = kernel;
  const { a, b } = kernel.scores[p]!;
  const sides = { a: { expr: a, lines: m }, b: { expr: b, lines: j } };
  const problem = problemOf({ kernel, depth: k, ...sides }, options.sizes);
  const { depthCount, type } = problem;
  const blocking = {
    ...TILE,
    rowsPerItem: rows,
    colBlock: columns,
    depthBlock: depthCount as number,
  };
  const { plain } = problem.a;
  const factors =
    plain !== null && isAdjacentInDepth(problem)
      ? directAccess(problem, plain, TILE.tileRows)
      : expressionAccess(problem, problem.a, blocking, options);
  // Blocks do not go from one step of the outer columns to the next; those of a triangle begin and end anywhere.
  const last = extent(j.slice(-1));
  const colCount = triangle === 'none' && typeof last === 'number' ? last : null;
  const tiled = {
    problem: { type, rowCount: problem.rowCount, colCount },
    output: { rowBytes: pitchOf(columns, type.bytes) },
  };
  const other = expressionAccess(problem, problem.b, blocking, options, 1);
  return blockProduct(problem, [factors, other], tiled, options);
}

/** Sums `c` of the columns of a block, over its rows: weights are those of a score's block, of which rows are steps. */
export function columnProduct(
  kernel: AttentionKernel<Size>,
  c: number,
  { rows, columns }: AttentionBlocks,
  options: KernelOptions,
  rowBytes: number,
): BlockProduct {
  const { m, j, n } = kernel;
  const { weight, value } = kernel.columnSums[c]!;
  const sides = {
    a: { expr: kernel.weights[weight]!, lines: j },
    b: { expr: value, lines: n },
  };
  const problem = problemOf({ kernel, depth: m, ...sides }, options.sizes);
  const { type, colCount } = problem;
  const step = pitchOf(columns, type.bytes);
  const weights: OperandAccess = {
    strides: { line: type.bytes, step, tailStep: step, tile: TILE.tileRows * type.bytes },
    scratchBytes: 0,
    prepare: (_f, _range, weightsAt) => weightsAt,
  };
  const values = valueAccess(problem, rows, options);
  const last = extent(j.slice(-1));
  // Blocks begin at multiples of whole tiles.
  const rowCount = typeof last === 'number' ? last : null;
  const tiled = { problem: { type, rowCount, colCount }, output: { rowBytes } };
  return blockProduct(problem, [weights, values], tiled, options);
}

/** Values that are multiplied with so many weights at once. */
function valueAccess(problem: MatmulProblem, steps: number, options: KernelOptions): OperandAccess {
  const { b, colCount } = problem;
  const blocking = { ...TILE, rowsPerItem: 0, colBlock: colCount as number, depthBlock: steps };
  return b.plain === null
    ? expressionAccess(problem, b, blocking, options)
    : panelAccess(problem, b, b.plain, blocking);
}

/** Sums of values `q` with the weights of a block, which lie in memory with `rowBytes` between rows. */
export function valueProduct(
  kernel: AttentionKernel<Size>,
  q: number,
  { columns }: AttentionBlocks,
  options: KernelOptions,
): BlockProduct {
  const { m, j, n } = kernel;
  const sides = {
    a: { expr: kernel.weights[q]!, lines: m },
    b: { expr: kernel.values[q]!, lines: n },
  };
  const problem = problemOf({ kernel, depth: j, ...sides }, options.sizes);
  const { type, rowCount, colCount } = problem;
  const width = colCount as number;
  const rowBytes = pitchOf(columns, type.bytes);
  const weights: OperandAccess = {
    strides: {
      line: rowBytes,
      step: type.bytes,
      tailStep: type.bytes,
      tile: TILE.tileRows * rowBytes,
    },
    scratchBytes: 0,
    prepare: (_f, _range, weightsAt) => weightsAt,
  };
  const values = valueAccess(problem, columns, options);
  const output = { rowBytes: pitchOf(width, type.bytes) };
  return blockProduct(
    problem,
    [weights, values],
    { problem: { type, rowCount, colCount }, output },
    options,
  );
}
