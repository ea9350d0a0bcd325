/**
 * @file How long products take by each tile: a table of measured times, and what follows from it for any shape.
 *
 * Measured on an NVIDIA H200 for float32 operands that lie along k: 1024 steps of k, with as many
 * workgroups as cores, two for each, three, four, six and eight. Threads hold their results in registers, so a core runs
 * two to six workgroups at a time: times go up in steps, and a few long workgroups cost as much as many.
 */
import type { MatmulShape, MatmulTile } from './matmul-tiles.js';

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
const LOADS = [1, 2, 3, 4, 6, 8];

type Row = readonly [bm: number, bn: number, bk: number, tm: 4 | 8, tn: 4 | 8, slices: number];

const ROWS: readonly (readonly [Row, looped: number, times: readonly number[]])[] = [
  [[128, 128, 16, 8, 8, 1], 1.18, [114, 217, 322, 424, 629, 834]],
  [[128, 64, 16, 8, 8, 1], 1.2, [68, 115, 168, 275, 328, 432]],
  [[64, 128, 16, 8, 8, 1], 1.2, [68, 116, 169, 274, 327, 433]],
  [[64, 64, 16, 8, 8, 1], 1.35, [60, 66, 109, 115, 173, 226]],
  [[64, 64, 16, 4, 8, 1], 1.07, [44, 73, 102, 133, 226, 256]],
  [[64, 64, 16, 4, 4, 1], 1.15, [45, 77, 113, 148, 222, 295]],
  [[64, 32, 16, 8, 4, 2], 1.4, [28, 44, 60, 100, 115, 170]],
  [[64, 64, 16, 8, 8, 4], 1.4, [41, 76, 111, 147, 254, 348]],
  [[32, 64, 32, 4, 4, 1], 1.06, [30, 50, 72, 94, 136, 179]],
  [[64, 32, 32, 4, 4, 1], 1.06, [29, 50, 71, 94, 136, 179]],
  [[32, 32, 32, 4, 4, 1], 1.1, [24, 32, 46, 55, 81, 104]],
  [[16, 16, 64, 4, 4, 16], 1.09, [15, 22, 31, 38, 54, 70]],
  [[16, 16, 32, 4, 4, 16], 1.15, [17, 21, 25, 43, 44, 64]],
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
const SECOND_KERNEL = { launch: 8, bytes: 2.5e6 };

/** Microseconds to add so many partial sums for each result. */
export function addTime(results: number, pieces: number): number {
  return SECOND_KERNEL.launch + ((pieces + 1) * results * 4) / SECOND_KERNEL.bytes;
}
