/**
 * @file Block sizes of a packed matrix product.
 *
 * The loops around the register tile are those of BLIS: a block of B (`depthBlock × colBlock`) is packed
 * into the second-level cache, then blocks of A (`rowBlock × depthBlock`) are packed and multiplied with
 * it, one B panel (first-level cache) at a time. A work item is `rowsPerItem` rows of one column block;
 * consecutive items share their packed B, so a thread's range of items packs each block of B once.
 */
import { type Size, sizeCeilDiv, sizeHint } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { SizedLoop } from '../../ir/index-expr.js';
import type { VectorTarget } from '../vectors/vector-target.js';
import { lanesOf, roundUp } from './block-layouts.js';
import { mergedSpace } from './merged-space.js';
import type { OrientedProduct } from './oriented-product.js';

/** Extents in rows, columns and k. */
export interface BlockSizes {
  /** Rows of a register tile, and vectors per row. */
  readonly tileRows: number;
  readonly tileVectors: number;
  readonly rowsPerItem: number;
  readonly colBlock: number;
  readonly depthBlock: number;
  /** Rows that share a packed block of B before it is packed again: bounds the scratch for partial sums. */
  readonly groupRows: number;
  readonly rowItems: Size;
  readonly colItems: Size;
}

/** Rows whose partial sums wait in scratch memory. */
const GROUP_ROWS = 1024;

/** A count that is symbolic is taken to be so large when blocks are chosen. */
const LONG = 1 << 20;
/** Up to this many rows, an item has all of them. */
const FEW_ROWS = 128;
/** Items a product should have, so that threads finish together. */
const WANTED_ITEMS = 8;
/** Columns per item at least, so that reading A is worth it: when A is packed for each item, and when it is not. */
const MIN_COLS_PACKED = 32;
const MIN_COLS_DIRECT = 16;

/** What blocks depend on of a machine. */
export type BlockTarget = Pick<VectorTarget, 'tile' | 'block'>;

/** Chooses block sizes for a product. */
export function chooseBlocks(product: OrientedProduct, { tile, block }: BlockTarget): BlockSizes {
  const bytes = itemSize(product.kernel.accDtype);
  const [rowCount, colCount, batchCount] = [
    product.rowCount,
    product.colCount,
    product.batchCount,
  ].map(sizeHint);
  const depthCount = typeof product.depthCount === 'number' ? product.depthCount : LONG;
  const grains = blockGrains(product, { tile, block });
  const depthBlock = evenBlock(Math.max(depthCount, 1), block.stepBytes / bytes, grains.depth);
  const fewRows = rowCount <= FEW_ROWS;
  const minCols = isAdjacentInDepth(product) ? MIN_COLS_DIRECT : MIN_COLS_PACKED;
  const wantedCols = fewRows
    ? Math.max(minCols, Math.ceil((colCount * batchCount) / WANTED_ITEMS))
    : Infinity;
  const colBlock = evenBlock(
    typeof product.colCount === 'number' ? colCount : LONG,
    Math.min(block.columnBytes / bytes, wantedCols),
    grains.cols,
  );
  const colItems = Math.ceil(colCount / colBlock);
  const rowsWanted = Math.ceil(rowCount / Math.ceil(WANTED_ITEMS / (colItems * batchCount)));
  const blockRows = typeof product.rowCount === 'number' ? Math.max(rowsWanted, 16) : block.rows;
  const rowsPerItem =
    fewRows && typeof product.rowCount === 'number'
      ? roundUp(rowCount, tile.rows)
      : roundUp(Math.min(block.rows, blockRows), grains.rows);
  return {
    tileRows: tile.rows,
    tileVectors: tile.vectors,
    rowsPerItem,
    colBlock,
    depthBlock,
    groupRows: Math.max(rowsPerItem, Math.floor(GROUP_ROWS / rowsPerItem) * rowsPerItem),
    rowItems: sizeCeilDiv(product.rowCount, rowsPerItem),
    colItems: sizeCeilDiv(product.colCount, colBlock),
  };
}

/** A's elements are adjacent along k: a tile can read it in place at nearly the speed of a packed one. */
export function isAdjacentInDepth(product: OrientedProduct): boolean {
  const { plain } = product.a;
  return plain !== null && plain.stepStride === 1 && plain.lineStride >= 0;
}

/** What block sizes should be multiples of. */
interface Grains {
  readonly rows: number;
  readonly cols: number;
  readonly depth: number;
}

/** Largest grain worth having. */
const MAX_GRAIN = 256;

/**
 * Whole tiles, and where expressions run over several variables, whole runs of the innermost: then
 * vectors never cross from one run to the next.
 */
function blockGrains(product: OrientedProduct, { tile, block }: BlockTarget): Grains {
  const { a, b, kernel, batch, depth } = product;
  const runs = (
    lists: readonly (readonly SizedLoop[])[],
    roots: readonly Expr[],
    stores: readonly Stmt[],
  ): readonly (readonly SizedLoop[])[] =>
    // Of one variable each, there is nothing to merge.
    lists.every((list) => list.length <= 1)
      ? lists
      : mergedSpace(lists, batch, roots, stores).lists;
  const ofA = runs([a.lines, depth], a.plain === null ? [a.expr] : [], []);
  const ofB = runs([b.lines, depth], b.plain === null ? [b.expr] : [], []);
  const stored = runs([a.lines, b.lines], [], kernel.epilogue);
  return {
    rows: commonGrain(tile.rows, [ofA[0]!, stored[0]!], block.rows),
    cols: commonGrain(tile.vectors * lanesOf(kernel.accDtype), [ofB[0]!, stored[1]!], MAX_GRAIN),
    depth: commonGrain(4, [ofA[1]!, ofB[1]!], MAX_GRAIN),
  };
}

/** Least common multiple of `grain` and the inner extents, as far as it stays within `limit`. */
function commonGrain(
  grain: number,
  lists: readonly (readonly SizedLoop[])[],
  limit: number,
): number {
  let common = grain;
  for (const list of lists) {
    const inner = list.length > 1 ? list.at(-1)!.size : 1;
    if (typeof inner !== 'number') continue;
    const multiple = (common * inner) / greatestCommonDivisor(common, inner);
    if (multiple <= limit) common = multiple;
  }
  return common;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** Splits `count` into equal blocks of at most about `limit`, each a multiple of `grain`. */
function evenBlock(count: number, limit: number, grain: number): number {
  const blocks = Math.ceil(count / limit);
  return Math.min(roundUp(Math.ceil(count / blocks), grain), roundUp(count, grain));
}
