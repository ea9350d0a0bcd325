/**
 * @file How images are cut into tiles, and how a tile lies packed.
 *
 * A tile is `rows × columns` pixels of the result. What it sees of a channel is packed into planes: one for each
 * remainder of places by the strides, so that neighbouring pixels see neighbouring elements. A row of a plane is `pitch`
 * elements, more than the tile has columns; pixels of the tile are numbered with that pitch too, and so every tap is at
 * one distance from its pixel. A vector may run from one row into the next: sums between rows belong to no pixel.
 */
import { roundUp } from '@tessera/inductor-core';
import { type Size, sizeCeilDiv, sizeHint, sizeMul } from '@tessera/shared';
import type { WindowAxis, Windows } from './windows.js';

/** See the file header. Strides in bytes. */
export interface Tiling {
  /** Pixels of a tile. */
  readonly rows: number;
  readonly columns: number;
  /** Elements of a row of a plane. */
  readonly pitch: number;
  readonly planeBytes: number;
  readonly channelBytes: number;
  /** Distance of each tap from its pixel, in the order of k. */
  readonly tapBytes: readonly number[];
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
export function tapPlace({ taps, dilation }: WindowAxis, tap: number): number {
  return Math.abs(dilation) * (dilation < 0 ? taps - 1 - tap : tap);
}

/** Rows, or columns, of a plane behind those of the tile's pixels, for places of a remainder; negative if there are none. */
export function rowsBehind(axis: WindowAxis, remainder: number): number {
  return Math.floor((reach(axis) - remainder) / axis.stride);
}

/** Chooses tiles. */
export function tilingOf({ problem, y, x, taps }: Windows): Tiling {
  const [height, width] = [sizeHint(y.size), sizeHint(x.size)];
  const widest = typeof x.size === 'number' ? MAX_COLUMNS : OPEN_COLUMNS;
  const columns =
    width <= widest && typeof x.size === 'number'
      ? width
      : roundUp(Math.ceil(width / Math.ceil(width / widest)), 8);
  const images = sizeHint(problem.batchCount);
  const most = sizeHint(problem.rowCount) === 1 ? PIXELS_OF_ONE_ROW : PIXELS;
  const wanted = Math.max(MIN_PIXELS, Math.ceil((height * width * images) / WANTED_TILES));
  const rows = evenly(height, Math.max(1, Math.floor(Math.min(most, wanted) / columns)));
  const pitch = columns + rowsBehind(x, 0);
  const planeBytes = 4 * roundUp((rows + rowsBehind(y, 0)) * pitch + SLACK, 4);
  const tapBytes: number[] = [];
  for (let tap = 0; tap < taps; tap++) {
    const [down, across] = [Math.floor(tap / x.taps), tap % x.taps];
    const [v, h] = [tapPlace(y, down), tapPlace(x, across)];
    const plane = (v % y.stride) * x.stride + (h % x.stride);
    const at = Math.floor(v / y.stride) * pitch + Math.floor(h / x.stride);
    tapBytes.push(plane * planeBytes + 4 * at);
  }
  return {
    rows,
    columns,
    pitch,
    planeBytes,
    channelBytes: sizeMul(y.stride * x.stride, planeBytes),
    tapBytes,
    lines: (rows - 1) * pitch + columns,
    tilesDown: sizeCeilDiv(y.size, rows),
    tilesAcross: sizeCeilDiv(x.size, columns),
  };
}

/** Splits a count into parts of nearly the same length, at most about `limit`. */
function evenly(count: number, limit: number): number {
  return Math.ceil(count / Math.ceil(count / Math.min(limit, count)));
}
