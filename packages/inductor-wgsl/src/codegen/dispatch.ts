/**
 * @file Grids: workgroup counts within the limit of each dimension.
 */
import type { WgslTarget } from './target.js';

/** A one-dimensional grid of workgroups, folded into two dimensions where it is too long. */
export interface Grid {
  readonly workgroups: readonly [number, number];
  /** Text of the workgroup's number. */
  readonly id: string;
  /** Workgroups that the rectangle has too many. */
  readonly surplus: number;
}

/** Grid of `count` workgroups. */
export function linearGrid(count: number, target: WgslTarget): Grid {
  const limit = target.maxWorkgroupsPerDimension;
  if (count <= limit) return { workgroups: [count, 1], id: 'group.x', surplus: 0 };
  const rows = Math.ceil(count / limit);
  const columns = Math.ceil(count / rows);
  return {
    workgroups: [columns, rows],
    id: `(group.y * ${columns}u + group.x)`,
    surplus: columns * rows - count,
  };
}
