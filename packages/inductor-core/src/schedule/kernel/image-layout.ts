/**
 * @file Blocks of columns that are tiles of an image: how what a tile sees of it lies.
 *
 * What a tile sees of a channel is packed into planes: one for each remainder of places by the strides, so that
 * neighbouring pixels see neighbouring elements. Rows of a plane are `pitch` elements, more than the tile has columns;
 * pixels of the tile are numbered with that pitch too, and so every tap is at one distance from its pixel. A vector may
 * run from one row into the next: sums between rows belong to no pixel.
 */
import type { Size } from '@tessera/shared';
import type { SizedLoop } from '../../ir/index-expr.js';

/** A direction of the image: places are `stride · pixel + dilation · tap`, from `dilation · (taps - 1)` up if that is negative. */
export interface WindowAxis {
  /** Absent of an axis of one pixel that the kernel does not have. */
  readonly pixel: string | null;
  /** Pixels of the result. */
  readonly size: Size;
  /** Absent where there is one tap. */
  readonly tap: string | null;
  readonly taps: number;
  readonly stride: number;
  readonly dilation: number;
}

/** See the file header. Distances are elements. */
export interface ImageLayout {
  readonly kind: 'image';
  /** The array of a tile, and steps that are packed at once. */
  readonly array: string;
  readonly steps: number;
  readonly y: WindowAxis;
  readonly x: WindowAxis;
  /** Steps are these, and taps by row. */
  readonly channels: readonly SizedLoop[];
  /** Variables of columns and steps that are 0. */
  readonly units: readonly string[];
  readonly pitch: number;
  readonly plane: number;
  readonly channel: number;
  /** Of each tap from its pixel, in the order of steps. */
  readonly taps: readonly number[];
}
