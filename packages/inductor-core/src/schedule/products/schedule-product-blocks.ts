/**
 * @file A matrix product on a machine with caches and vectors: its columns in ranges, or those of a convolution in tiles of
 * its image (`windows.ts`); both are walked alike (`product-walk.ts`). With few rows nothing is worth packing
 * (`schedule-few-rows.ts`).
 */
import { type Size, sizeHint, sizeMul } from '@tessera/shared';
import type { MatmulKernel } from '../../ir/kernel.js';
import type { BlockSide, WordParts } from '../kernel/blocks.js';
import { minus, modulo, over, plus, times, variable, whole } from '../kernel/places.js';
import type { ScheduledKernel } from '../kernel/scheduled-kernel.js';
import { scheduleVectors } from '../vectors/schedule-vectors.js';
import { define } from '../vectors/vector-loops.js';
import type { VectorTarget } from '../vectors/vector-target.js';
import { inRows } from './block-layouts.js';
import { type BlockSizes, chooseBlocks } from './block-sizes.js';
import { imageStores, rangeStores } from './block-stores.js';
import { imageTiles, isWorthTiling, windowBlocks } from './image-tiles.js';
import { type OrientedProduct, oriented } from './oriented-product.js';
import { matmulAsReduction } from './product-shape.js';
import { walkBlocks } from './product-walk.js';
import { isFewRows, scheduleFewRows } from './schedule-few-rows.js';
import { storedSums } from './stored-sums.js';
import { type Windows, windowsOf } from './windows.js';

/** The parts of columns that are parts of words, or null: `wordParts`, of those who have code for it. */
export type PartsOf = (product: OrientedProduct, blocks: BlockSizes) => WordParts | null;

/** Schedules a product. One without results, or without terms, is a loop. */
export function scheduleProductBlocks(
  kernel: MatmulKernel<Size>,
  target: VectorTarget,
  partsOf: PartsOf = () => null,
): ScheduledKernel {
  const product = oriented(kernel);
  const { rowCount, colCount, batchCount, depthCount } = product;
  if ([rowCount, colCount, batchCount, depthCount].includes(0))
    return scheduleVectors(matmulAsReduction(kernel), target);
  const windows = windowsOf(product);
  if (windows !== null && isWorthTiling(windows)) return inImages(windows, target);
  return isFewRows(product) ? scheduleFewRows(product, target) : inRanges(product, target, partsOf);
}

/** Columns are ranges of all of them. */
function inRanges(
  product: OrientedProduct,
  target: VectorTarget,
  partsOf: PartsOf,
): ScheduledKernel {
  const blocks = chooseBlocks(product, target);
  const { colBlock, depthBlock, rowsPerItem } = blocks;
  const { b, batch, depth, colCount, depthCount } = product;
  const packed = { array: 'columns', lines: colBlock, steps: depthBlock };
  // Panels of a symbolic number of columns would need code for every remainder.
  const from = partsOf(product, blocks) ?? (typeof colCount === 'number' ? b.plain : null);
  const side: BlockSide =
    from === null
      ? inRows({ batch, depth }, b, packed)
      : { lines: b.lines, value: b.expr, layout: { kind: 'panels', ...packed, from } };
  const [col, cols] = ['col', 'cols'].map(variable);
  return walkBlocks(
    product,
    blocks,
    {
      count: blocks.colItems,
      side,
      open: [
        define('col', times(variable('block'), colBlock)),
        define('cols', minus(whole(colCount), col!), colBlock),
      ],
      lines: [[col!, cols!]],
      width: cols!,
      stores: (pitch) => rangeStores(product, colBlock, pitch),
      nanoseconds:
        (2 * rowsPerItem * Math.min(colBlock, sizeHint(colCount)) * sizeHint(depthCount)) / 40,
    },
    storedSums(product),
  );
}

/** Columns are tiles of an image. */
function inImages(windows: Windows, target: VectorTarget): ScheduledKernel {
  const { product, y, x, channels, units } = windows;
  const tiles = imageTiles(windows);
  const blocks = windowBlocks(windows, tiles, target);
  const { rows, columns, lines, tilesDown, tilesAcross, pitch, plane, channel, taps } = tiles;
  const [block, top, left, height, width] = ['block', 'y', 'x', 'height', 'width'].map(variable);
  return walkBlocks(
    product,
    blocks,
    {
      count: sizeMul(tilesDown, tilesAcross),
      side: {
        lines: product.b.lines,
        value: product.b.expr,
        layout: {
          kind: 'image',
          array: 'image',
          steps: blocks.depthBlock,
          y,
          x,
          channels,
          units,
          pitch,
          plane,
          channel,
          taps,
        },
      },
      open: [
        define('y', times(over(block!, tilesAcross), rows)),
        define('x', times(modulo(block!, tilesAcross), columns)),
        define('height', minus(whole(y.size), top!), rows),
        define('width', minus(whole(x.size), left!), columns),
        define('lines', plus(times(minus(height!, whole(1)), pitch), width!)),
      ],
      lines: [
        [top!, height!],
        [left!, width!],
      ],
      width: variable('lines'),
      tail: TAIL_VECTORS,
      stores: (row) => imageStores(windows, tiles, row),
      nanoseconds: (2 * blocks.rowsPerItem * lines * sizeHint(product.depthCount)) / 40,
    },
    null,
  );
}

/** Vectors of a tile behind whole ones. */
const TAIL_VECTORS = 2;
