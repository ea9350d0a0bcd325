/**
 * @file How long products take by each tile: a table of measured times, and what follows from it for any shape.
 *
 * Measured on an NVIDIA H100 for float32 operands that lie along k: 1024 steps of k, with as many workgroups as cores,
 * twice as many, and so on. Threads hold their results in registers, so a core runs two to six workgroups at a time: times
 * go up in steps, and a few long workgroups cost as much as many. That of 64 × 32 by 4 × 4 is its mirror image's. Rows
 * of slabs were not shifted then (`slab.ts`), which takes 4 to 8 % off products of operands that lie along k.
 */
import type { MatmulShape, MatmulTile } from './product-tiles.js';

/** A tile and its times. */
export interface TimedTile {
  readonly tile: MatmulTile;
  /** Microseconds of 1024 steps, by `LOADS`. */
  readonly times: readonly number[];
  /** How much longer it takes if the steps of a slab are not written out. */
  readonly looped: number;
}

/** Cores of that card. WebGPU does not tell how many a device has, so every GPU is taken to be like it. */
const CORES = 132;

/** Workgroups for each core. */
const LOADS = [1, 2, 3, 4, 5, 6, 7, 8, 10];

type Row = readonly [bm: number, bn: number, bk: number, tm: 4 | 8, tn: 4 | 8, slices: number];

const ROWS: readonly (readonly [Row, looped: number, times: readonly number[]])[] = [
  [[128, 128, 16, 8, 8, 1], 1.15, [109, 209, 312, 413, 515, 616, 718, 820, 1024]],
  [[128, 64, 16, 8, 8, 1], 1.25, [63, 108, 160, 230, 263, 315, 366, 416, 519]],
  [[64, 128, 16, 8, 8, 1], 1.35, [62, 109, 160, 220, 262, 313, 367, 414, 518]],
  [[64, 64, 16, 8, 8, 1], 1.26, [58, 61, 105, 108, 156, 165, 215, 216, 268]],
  [[64, 64, 16, 4, 8, 1], 1.05, [37, 63, 90, 116, 142, 196, 196, 222, 276]],
  [[64, 32, 16, 8, 4, 2], 1.45, [23, 38, 53, 88, 88, 105, 138, 142, 190]],
  [[32, 64, 16, 4, 8, 1], 1.11, [34, 38, 61, 66, 91, 98, 123, 138, 164]],
  [[32, 64, 16, 4, 4, 1], 1.05, [25, 39, 56, 73, 90, 107, 124, 146, 174]],
  [[64, 32, 16, 4, 4, 1], 1.05, [25, 39, 56, 73, 90, 107, 124, 146, 174]],
  [[32, 32, 32, 4, 4, 1], 1.07, [20, 26, 40, 47, 62, 81, 89, 89, 112]],
  [[32, 32, 32, 4, 4, 2], 1.87, [15, 25, 36, 48, 58, 70, 82, 93, 116]],
  [[16, 16, 64, 4, 4, 16], 1.08, [12, 18, 27, 35, 43, 51, 59, 67, 83]],
  [[16, 16, 32, 4, 4, 16], 1.17, [14, 18, 21, 39, 40, 41, 59, 59, 78]],
];

/** Every tile shape for GPUs. */
export const TIMED_TILES: readonly TimedTile[] = ROWS.map(
  ([[bm, bn, bk, tm, tn, slices], looped, times]) => ({
    tile: { bm, bn, bk, tm, tn, slices },
    times,
    looped,
  }),
);

/** Microseconds of a product by a tile; `unrolled` if the steps of a slab are written out. */
export function productTime(
  { tile, times, looped }: TimedTile,
  { batch, m, n, k }: MatmulShape,
  unrolled: boolean,
): number {
  const groups = Math.ceil(m / tile.bm) * Math.ceil(n / tile.bn) * batch;
  const steps = Math.ceil(k / tile.bk) * tile.bk;
  return (timeOf(times, Math.ceil(groups / CORES)) * steps * (unrolled ? 1 : looped)) / 1024;
}

/** The time of a load: a row of the table, or what lies between two; beyond the last it grows in proportion. */
function timeOf(times: readonly number[], load: number): number {
  const last = LOADS.length - 1;
  if (load >= LOADS[last]) return (times[last] * load) / LOADS[last];
  const above = LOADS.findIndex((row) => row >= load);
  const [low, high] = [LOADS[above - 1] ?? 1, LOADS[above]];
  if (high === load) return times[above];
  const share = (load - low) / (high - low);
  return times[above - 1] * (1 - share) + times[above] * share;
}

/** Of a second kernel, which adds partial sums, in microseconds: its launch, and bytes per microsecond. */
const SECOND_KERNEL = { launch: 5, bytes: 4e6 };

/** Microseconds to add so many partial sums for each result. */
export function addTime(results: number, pieces: number): number {
  return SECOND_KERNEL.launch + ((pieces + 1) * results * 4) / SECOND_KERNEL.bytes;
}
