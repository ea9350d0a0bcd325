/**
 * @file The walk of a product over blocks: of columns, k and rows, in this order.
 *
 * Items that follow each other and have the same columns may be one: for each block of k it packs B once, then packs each
 * block of A and multiplies. Sums of earlier blocks of k wait where the results go: in the output itself when the epilogue
 * only stores the product, else in scratch memory, from which the epilogue reads after the last block of k.
 */
import { type Size, sizeProduct } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { BlockRange, BlockSide, BlockStmt } from '../kernel/blocks.js';
import { minus, modulo, over, placesOf, plus, times, variable, whole } from '../kernel/places.js';
import type {
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
  ScratchArray,
} from '../kernel/scheduled-kernel.js';
import { define, loopOver } from '../vectors/vector-loops.js';
import { inRows, lanesOf, packedLength, roundUp } from './block-layouts.js';
import { type BlockSizes, isAdjacentInDepth } from './block-sizes.js';
import { type BlockStores, SUMS } from './block-stores.js';
import type { OrientedProduct } from './oriented-product.js';
import type { StoredSums } from './stored-sums.js';

/** The name of the product in its schedule. */
export const PRODUCT = 'product';

/** How the columns of a product are cut. */
export interface ColumnBlocks {
  /** Blocks of an entry of the batch. */
  readonly count: Size;
  readonly side: BlockSide;
  /** Defines where block `block` lies. */
  readonly open: ScheduledBody;
  /** What of it is packed, and how many columns are summed. */
  readonly lines: readonly BlockRange[];
  readonly width: IndexExpr;
  /** Vectors of each tile behind whole ones, where they are not one. */
  readonly tail?: number;
  /** How sums are stored from scratch memory, where rows of them are so far apart. */
  readonly stores: (pitch: number) => BlockStores;
  /** Time of an item. */
  readonly nanoseconds: number;
}

/** Column blocks narrower than this do not repay packing A. */
const PACK_A_COLS = 96;

/** See the file header. */
export function walkBlocks(
  product: OrientedProduct,
  blocks: BlockSizes,
  columns: ColumnBlocks,
  inPlace: StoredSums | null,
): ScheduledKernel {
  const { kernel, batch, depth, depthCount, rowCount, colCount, batchCount } = product;
  const { rowItems, rowsPerItem, depthBlock, groupRows, tileRows, tileVectors } = blocks;
  // With one block of k, sums wait for nothing.
  const atOnce = typeof depthCount === 'number' && depthCount <= depthBlock;
  const pitch = roundUp(blocks.colBlock, 8) + (blocks.colBlock >= 128 ? 16 : 0);
  const a = rowSide(product, blocks);
  const { accDtype: dtype } = kernel;
  const scratch: ScratchArray[] = [a, columns.side].flatMap((side, i) => {
    const lines = [tileRows, tileVectors * lanesOf(dtype)][i]!;
    const length = packedLength(side, lines, dtype);
    return 'array' in side.layout ? [{ name: side.layout.array, dtype, length }] : [];
  });
  const [item, first, at, stop, rows] = ['item', 'first', 'row', 'stop', 'rows'].map(variable);
  const [step, count] = ['step', 'steps'].map(variable);
  const steps: BlockRange = [step!, count!];
  let to: StoredSums = {
    to: SUMS,
    row: pitch,
    place: atOnce ? whole(0) : times(minus(at!, first!), pitch),
  };
  let stores: BlockStores | null = null;
  const behind: ScheduledStmt[] = [];
  if (inPlace !== null) to = inPlace;
  else {
    stores = columns.stores(pitch);
    const all = typeof rowCount === 'number' ? roundUp(rowCount, tileRows) : Infinity;
    const length = Math.min(atOnce ? rowsPerItem : groupRows, all) * pitch;
    scratch.push({ name: SUMS, dtype, length: length + 64 / itemSize(dtype) });
    const epilogue = stores.visit(variable('batch'), [at!, rows!], atOnce ? at! : first!);
    const left = minus(minus(whole(depthCount), step!), count!);
    behind.push(
      atOnce ? epilogue : { kind: 'when', all: [{ kind: 'first', index: left }], body: [epilogue] },
    );
  }
  const tile = { rows: tileRows, vectors: tileVectors };
  return {
    kernel,
    loops: stores?.loops ?? batch,
    grid: {
      name: 'item',
      extent: sizeProduct([batchCount, columns.count, rowItems]),
      runs: { name: 'items', within: rowItems, most: groupRows / rowsPerItem },
      nanoseconds: columns.nanoseconds,
    },
    shared: [],
    accumulators: [],
    scratch,
    products: [
      {
        name: PRODUCT,
        a,
        b: columns.side,
        batch,
        steps: depth,
        tile: columns.tail === undefined ? tile : { ...tile, tail: columns.tail },
        ends: [rowCount, colCount],
        to: to.to,
        row: to.row,
      },
    ],
    routines: stores === null ? [] : [stores.routine],
    body: [
      define('column', over(item!, rowItems)),
      define('batch', over(variable('column'), columns.count)),
      ...(inPlace === null ? [] : placesOf(batch, variable('batch'))),
      define('block', modulo(variable('column'), columns.count)),
      define('first', times(modulo(item!, rowItems), rowsPerItem)),
      define('stop', plus(first!, times(variable('items'), rowsPerItem)), rowCount),
      ...columns.open,
      loopOver('step', { begin: whole(0), end: whole(depthCount) }, depthBlock, [
        define('steps', minus(whole(depthCount), step!), depthBlock),
        pack('b', columns.lines, steps),
        loopOver('row', { begin: first!, end: stop! }, rowsPerItem, [
          define('rows', minus(stop!, at!), rowsPerItem),
          pack('a', [[at!, rows!]], steps),
          multiply([rows!, columns.width, count!], to.place, step!),
          ...behind,
        ]),
      ]),
    ],
  };
}

/** A block that is made ready. */
export function pack(side: 'a' | 'b', lines: readonly BlockRange[], steps: BlockRange): BlockStmt {
  return { kind: 'pack', product: PRODUCT, side, batch: variable('batch'), lines, steps };
}

/** Multiplies what is ready: so many rows, columns and steps. */
export function multiply(
  [rows, columns, steps]: readonly [IndexExpr, IndexExpr, IndexExpr],
  at: IndexExpr,
  onto: IndexExpr,
): BlockStmt {
  return { kind: 'product', product: PRODUCT, rows, columns, steps, at, onto };
}

/** Rows lie where they do, or packed. */
function rowSide(product: OrientedProduct, blocks: BlockSizes): BlockSide {
  const { a, batch, depth } = product;
  const { rowsPerItem, depthBlock: steps, colBlock, tileRows } = blocks;
  const { lines, expr: value, plain: from } = a;
  const packed = { array: 'rows', lines: rowsPerItem, steps };
  if (from === null) return inRows({ batch, depth }, a, packed);
  const inPlace = isAdjacentInDepth(product) && (colBlock < PACK_A_COLS || tileRows === 1);
  return {
    lines,
    value,
    layout: inPlace ? { kind: 'in place', from } : { kind: 'panels', ...packed, from },
  };
}
