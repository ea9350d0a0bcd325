/**
 * @file Tile shapes of the attention generator, as data, and the choice among them.
 */
import { extent, type AttentionKernel } from '@tessera/inductor-core';
import { type Size, sizeHint } from '@tessera/shared';
import type { WgslTarget } from './target.js';

/**
 * A workgroup makes `bm` rows of results from `bn` columns of weights at a time; a thread makes `tm × tn` of these
 * weights, and `tm` rows of results. Factors and values are loaded in slabs of `bk`.
 */
export interface AttentionTile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: 4 | 8;
  readonly tn: 4 | 8;
  readonly slices: 1;
}

/** What a kernel needs of a tile. */
export interface AttentionNeeds {
  /** Values along a row of results. */
  readonly width: number;
  /** Sums that weights are made of, and results. */
  readonly scores: number;
  readonly results: number;
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
}

/** What a tile is chosen by. */
export function attentionNeeds({
  batch,
  m,
  j,
  n,
  scores,
  values,
}: AttentionKernel<Size>): AttentionNeeds {
  return {
    width: sizeHint(extent(n)),
    scores: scores.length,
    results: values.length,
    batch: sizeHint(extent(batch)),
    rows: sizeHint(extent(m)),
    columns: sizeHint(extent(j)),
  };
}

function tile(bm: number, bn: number, bk: number, tm: 4 | 8, tn: 4 | 8): AttentionTile {
  return { bm, bn, bk, tm, tn, slices: 1 };
}

/**
 * In the order of measured speed where there is enough to do (NVIDIA H200). Larger blocks read less of workgroup
 * memory for a result but leave fewer threads on a processor, which costs more: 64 × 64 with 4 × 8 takes 1.1 times
 * as long, slabs of 32 take 1.3 times.
 */
const GPU_TILES: readonly AttentionTile[] = [
  tile(64, 32, 16, 4, 4),
  tile(32, 32, 16, 4, 4),
  tile(32, 32, 8, 4, 4),
  tile(16, 32, 8, 4, 4),
];

/** Beyond this many values a row, results take the registers that larger tiles need. */
const NARROW = 64;

/** For wider rows, likewise: 64 × 32 takes 1.1 times as long, slabs of 16 take 1.3 times. */
const WIDE_TILES: readonly AttentionTile[] = [tile(32, 32, 8, 4, 4), tile(16, 32, 8, 4, 4)];

/** For software adapters: much work for each of few threads. */
const SOFTWARE_TILES: readonly AttentionTile[] = [
  tile(32, 32, 16, 8, 8),
  tile(32, 32, 8, 8, 8),
  tile(16, 16, 8, 4, 4),
];

/** Every tile shape. */
export const ATTENTION_TILES: readonly AttentionTile[] = [...GPU_TILES, ...SOFTWARE_TILES];

/** Threads along a row. */
export function tileColumns({ bn, tn }: AttentionTile): number {
  return bn / tn;
}

/** Vectors of results that a thread makes in each row. */
export function resultVectors(shape: AttentionTile, width: number): number {
  return Math.ceil(width / (4 * tileColumns(shape)));
}

/** Vectors of padding after each row in workgroup memory: spreads rows over memory banks where there is room. */
export function attentionPadding(
  shape: AttentionTile,
  needs: AttentionNeeds,
  target: WgslTarget,
): 0 | 1 {
  return workgroupBytes(shape, needs, 1) <= target.maxWorkgroupBytes ? 1 : 0;
}

/** Factors, and values, that lie in memory in another order have slabs of their own. */
function workgroupBytes(
  { bm, bn, bk, tn }: AttentionTile,
  { width, scores, results }: AttentionNeeds,
  padding: 0 | 1,
): number {
  const columns = bn / tn;
  const along = Math.ceil(width / (4 * columns)) * columns;
  const orders = (count: number): number => Math.min(count, 2);
  const slabs =
    bk * (orders(scores) * (bm / 4 + bn / 4 + 2 * padding) + orders(results) * (along + padding));
  const weights = bn * (bm / 4 + padding);
  return 16 * (slabs + weights + columns * (bm / 4));
}

/** Whether a device can run a tile. */
export function attentionFits(
  tile: AttentionTile,
  needs: AttentionNeeds,
  target: WgslTarget,
): boolean {
  return (
    (tile.bm / tile.tm) * tileColumns(tile) <= target.maxWorkgroupThreads &&
    workgroupBytes(tile, needs, 0) <= target.maxWorkgroupBytes
  );
}

/** The widest results for which some tile fits any device. */
export const WIDEST_ATTENTION = 128;

function tilesFor({ width }: AttentionNeeds, { software }: WgslTarget): readonly AttentionTile[] {
  if (software) return SOFTWARE_TILES;
  return width > NARROW ? WIDE_TILES : GPU_TILES;
}

/** The first tile that gives a device enough workgroups, or else the most of them. */
export function chooseAttentionTile(needs: AttentionNeeds, target: WgslTarget): AttentionTile {
  const usable = tilesFor(needs, target).filter((tile) => attentionFits(tile, needs, target));
  const groups = ({ bm }: AttentionTile): number => Math.ceil(needs.rows / bm) * needs.batch;
  return (
    usable.find((tile) => groups(tile) >= target.parallelism) ??
    usable.reduce((best, tile) => (groups(tile) > groups(best) ? tile : best))
  );
}
