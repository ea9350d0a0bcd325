/**
 * @file Grids: workgroup counts within the limit of each dimension.
 */
import { foldGrid } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { WgslTarget } from './target.js';

/** Workgroups in x and y; where their number depends on sizes, it and the most in x. */
export type Workgroups =
  readonly [number, number] | { readonly count: Size; readonly columns: number };

/** A one-dimensional grid of workgroups, folded into two dimensions where it is too long. */
export interface Grid<W extends Workgroups = Workgroups> {
  readonly workgroups: W;
  /** Text of the workgroup's number. */
  readonly id: string;
  /** Whether the rectangle may have more workgroups than were asked for. */
  readonly hasSurplus: boolean;
}

/** Grid of `count` workgroups. */
export function linearGrid(count: number, target: WgslTarget): Grid<readonly [number, number]>;
export function linearGrid(count: Size, target: WgslTarget): Grid;
export function linearGrid(count: Size, target: WgslTarget): Grid {
  const { columns, rows, hasSurplus } = foldGrid(count, target.maxWorkgroupsPerDimension);
  const id = rows === 1 ? 'group.x' : `(group.y * ${columns}u + group.x)`;
  const workgroups: Workgroups =
    typeof rows === 'number' ? [columns, rows] : { count: rows, columns };
  return { workgroups, id, hasSurplus };
}

/** How many workgroups there are, and the most of them in x; a rectangle has as many in each row. */
export function foldedCount(workgroups: Workgroups): {
  readonly count: Size;
  readonly columns: number;
} {
  if ('count' in workgroups) return workgroups;
  const [columns, rows] = workgroups;
  return { count: columns * rows, columns };
}
