/**
 * @file `ThreadTarget`: a machine whose threads work in groups that share memory, as far as schedules must know it.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { isFloat } from '../../ir/scalar-eval.js';
import type { TargetDescription } from '../target-description.js';

/** See the file header. Sizes in bytes, counts in threads or groups. Vectors have four lanes. */
export interface ThreadTarget {
  readonly arithmetic: TargetDescription;
  /** Elements of float16 have two bytes; elsewhere they have four. */
  readonly f16: boolean;
  /** Bounds of the number of threads that exchange values directly, or null where none do. */
  readonly subgroups: { readonly min: number; readonly max: number } | null;
  readonly maxWorkgroupThreads: number;
  readonly maxWorkgroupBytes: number;
  readonly maxWorkgroupsPerDimension: number;
  /** Groups that keep the device busy. */
  readonly parallelism: number;
  /** Threads of a group take turns: barriers and threads that wait cost time. */
  readonly software: boolean;
}

/** The next power of two. */
export const ceilPower = (x: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, x)));

/** Type in which values of a dtype go from thread to thread. */
export function carrierOf(dtype: DType): 'float32' | 'int32' | 'bool' {
  if (isFloat(dtype)) return 'float32';
  return dtype === 'bool' ? 'bool' : 'int32';
}

/** A one-dimensional grid, folded into two dimensions where it is too long for one. */
export interface FoldedGrid {
  readonly columns: number;
  readonly rows: Size;
  /** The rectangle may have more groups than were asked for. */
  readonly hasSurplus: boolean;
}

/** How `count` groups are laid out. A number of groups that is not known is folded when it is. */
export function foldGrid(count: Size, limit: number): FoldedGrid {
  if (typeof count !== 'number') return { columns: limit, rows: count, hasSurplus: true };
  if (count <= limit) return { columns: count, rows: 1, hasSurplus: false };
  const rows = Math.ceil(count / limit);
  const columns = Math.ceil(count / rows);
  return { columns, rows, hasSurplus: columns * rows > count };
}
