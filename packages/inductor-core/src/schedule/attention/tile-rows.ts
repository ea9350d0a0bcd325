/**
 * @file Where the rows and columns are that a thread makes of a tile: groups of four, spread over the tile.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import { sum, times, variable, whole } from '../kernel/places.js';
import { type AttentionTile, tileColumns } from './attention-tiles.js';

/** Groups of four rows of the tile before a thread's group `r`, counted from its first. */
export function rowShift({ bm, tm }: AttentionTile, r: number): number {
  return (r * bm) / tm;
}

/** A thread's row `i`. */
export function downOf(tile: AttentionTile, i: number): IndexExpr {
  const by = whole(4 * rowShift(tile, i >> 2) + (i & 3));
  return sum(variable('first_m'), times(variable('row'), 4), by);
}

/** Vectors before a thread's vector `g` of columns, counted from its first. */
export function columnShift(tile: AttentionTile, g: number): number {
  return g * tileColumns(tile);
}

/** The first element of a thread's vector `g`, from where vectors begin. */
export function alongOf(tile: AttentionTile, g: number): IndexExpr {
  return sum(times(variable('column'), 4), whole(4 * columnShift(tile, g)));
}
