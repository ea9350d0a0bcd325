/**
 * @file How images are cut into tiles, and how a tile lies packed (`kernel/image-layout.ts`).
 */
import { type Size, sizeCeilDiv, sizeHint, sizeMul } from '@tessera/shared';
import type { ImageLayout, WindowAxis } from '../kernel/image-layout.js';
import { lanesOf, roundUp } from './block-layouts.js';
import { type BlockSizes, type BlockTarget, chooseBlocks } from './block-sizes.js';
import type { Windows } from './windows.js';

/** See the file header. */
export interface ImageTiles extends Pick<ImageLayout, 'pitch' | 'plane' | 'channel' | 'taps'> {
  /** Pixels of a tile. */
  readonly rows: number;
  readonly columns: number;
  /** Numbered pixels of a whole tile. */
  readonly lines: number;
  readonly tilesDown: Size;
  readonly tilesAcross: Size;
}

/** Wider images are cut. */
const MAX_COLUMNS = 128;
/** Columns of a tile of an image whose width is not known. */
const OPEN_COLUMNS = 64;
/** Pixels of a tile: their sums and what they see should stay in a near cache. */
const PIXELS = 512;
const PIXELS_OF_ONE_ROW = 2048;
const MIN_PIXELS = 64;
/** Tiles there should be, so that threads finish together. */
const WANTED_TILES = 8;
/** What vectors read beyond a plane, in elements. */
const SLACK = 40;

/** Distance of the last tap from the first. */
export function reach({ taps, dilation }: WindowAxis): number {
  return Math.abs(dilation) * (taps - 1);
}

/** Place of a tap behind the pixel's first. */
function tapPlace({ taps, dilation }: WindowAxis, tap: number): number {
  return Math.abs(dilation) * (dilation < 0 ? taps - 1 - tap : tap);
}

/** Rows, or columns, of a plane behind those of the tile's pixels, for places of a remainder; negative if there are none. */
export function rowsBehind(axis: WindowAxis, remainder: number): number {
  return Math.floor((reach(axis) - remainder) / axis.stride);
}

/** Chooses tiles. */
export function imageTiles({ product, y, x, taps }: Windows): ImageTiles {
  const [height, width] = [sizeHint(y.size), sizeHint(x.size)];
  const widest = typeof x.size === 'number' ? MAX_COLUMNS : OPEN_COLUMNS;
  const columns =
    width <= widest && typeof x.size === 'number'
      ? width
      : roundUp(Math.ceil(width / Math.ceil(width / widest)), 8);
  const images = sizeHint(product.batchCount);
  const most = sizeHint(product.rowCount) === 1 ? PIXELS_OF_ONE_ROW : PIXELS;
  const wanted = Math.max(MIN_PIXELS, Math.ceil((height * width * images) / WANTED_TILES));
  const rows = evenly(height, Math.max(1, Math.floor(Math.min(most, wanted) / columns)));
  const pitch = columns + rowsBehind(x, 0);
  const plane = roundUp((rows + rowsBehind(y, 0)) * pitch + SLACK, 4);
  const places = Array.from({ length: taps }, (_, tap) => {
    const [v, h] = [tapPlace(y, Math.floor(tap / x.taps)), tapPlace(x, tap % x.taps)];
    const first = ((v % y.stride) * x.stride + (h % x.stride)) * plane;
    return first + Math.floor(v / y.stride) * pitch + Math.floor(h / x.stride);
  });
  return {
    rows,
    columns,
    pitch,
    plane,
    channel: y.stride * x.stride * plane,
    taps: places,
    lines: (rows - 1) * pitch + columns,
    tilesDown: sizeCeilDiv(y.size, rows),
    tilesAcross: sizeCeilDiv(x.size, columns),
  };
}

/** Splits a count into parts of nearly the same length, at most about `limit`. */
function evenly(count: number, limit: number): number {
  return Math.ceil(count / Math.ceil(count / Math.min(limit, count)));
}

/** Vectors of a tile by its rows: registers hold the sums, a row of vectors and an element of A. */
const TILE_VECTORS = [0, 6, 4, 2, 2];
/** Packing an operand with all its taps costs about as much as so many rows of products. */
const ROWS_OF_PACKING = 7;
/** Steps of k for which images are packed at once. */
const MAX_STEPS = 512;

/** Whether sums between the rows of a tile cost less than packing every pixel for each tap. */
export function isWorthTiling(windows: Windows): boolean {
  const { rows, columns, lines } = imageTiles(windows);
  const between = lines / (rows * columns) - 1;
  return between * sizeHint(windows.product.rowCount) < ROWS_OF_PACKING;
}

/** Block sizes of a convolution. */
export function windowBlocks(
  { product, taps, channelCount }: Windows,
  { lines, tilesDown, tilesAcross }: ImageTiles,
  target: BlockTarget,
): BlockSizes {
  const plain = chooseBlocks(product, target);
  const tileRows = Math.min(plain.tileRows, Math.max(sizeHint(product.rowCount), 1));
  const tileVectors = TILE_VECTORS[tileRows]!;
  const blocks = Math.ceil((channelCount * taps) / MAX_STEPS);
  return {
    ...plain,
    tileRows,
    tileVectors,
    colBlock: roundUp(lines, tileVectors * lanesOf(product.kernel.accDtype)),
    depthBlock: Math.ceil(channelCount / blocks) * taps,
    colItems: sizeMul(tilesDown, tilesAcross),
  };
}
