/**
 * @file Grids: workgroup counts within the limit of each dimension.
 */
import type { SizeValue } from '@tessera/inductor-core';
import { type Size, sizeCeilDiv } from '@tessera/shared';
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
  const limit = target.maxWorkgroupsPerDimension;
  if (typeof count !== 'number')
    return {
      workgroups: { count, columns: limit },
      id: `(group.y * ${limit}u + group.x)`,
      hasSurplus: true,
    };
  if (count <= limit) return { workgroups: [count, 1], id: 'group.x', hasSurplus: false };
  const rows = Math.ceil(count / limit);
  const columns = Math.ceil(count / rows);
  return {
    workgroups: [columns, rows],
    id: `(group.y * ${columns}u + group.x)`,
    hasSurplus: columns * rows > count,
  };
}

/** Grid of workgroups that take so many units each. */
export function gridOf(units: Size, each: number, target: WgslTarget): Grid {
  return linearGrid(sizeCeilDiv(units, each), target);
}

/** Workgroups in x and y at given sizes. */
export function workgroupsAt(
  workgroups: Workgroups,
  valueOf: SizeValue,
): readonly [number, number] {
  if (!('count' in workgroups)) return workgroups;
  const count = valueOf(workgroups.count);
  const { columns } = workgroups;
  return count <= columns ? [count, 1] : [columns, Math.ceil(count / columns)];
}
