/**
 * @file Tile shapes of attention, as data, and the choice among them.
 */
import { type Size, sizeHint } from '@tessera/shared';
import type { AttentionKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import type { ProductTarget, TileChoice } from '../products/product-tiles.js';
import { slabPadding } from '../products/slab-layout.js';

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

type AttentionChoice = TileChoice<AttentionTile>;

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

function choice(
  enough: number,
  bm: number,
  bn: number,
  bk: number,
  part: readonly [4 | 8, 4 | 8] = [4, 4],
): AttentionChoice {
  const [tm, tn] = part;
  return { tile: { bm, bn, bk, tm, tn, slices: 1 }, enough };
}

/**
 * The first of which there are enough is the fastest (NVIDIA H100). Where many workgroups share a processor, what
 * counts is how seldom workgroup memory is read for a result, and how many threads have room; where few do, how many
 * threads a workgroup has and how seldom these wait for each other: for a head of 512 rows, 16 × 32 in slabs of 8 takes
 * 2.2 times as long as 32 × 64 in slabs of 32. Those behind need less memory.
 */
const GPU_TILES: readonly AttentionChoice[] = [
  choice(2, 64, 32, 16),
  choice(1, 32, 64, 16),
  choice(0.15, 32, 64, 32),
  choice(1, 32, 32, 16),
  choice(1, 32, 32, 8),
  choice(0, 16, 64, 16),
  choice(0, 16, 32, 8),
];

/** Beyond this many values a row, results take the registers and the memory that other tiles need. */
const NARROW = 64;

/** For wider rows, likewise: 32 × 32 in slabs of 8 takes 1.2 times as long as the first two. */
const WIDE_TILES: readonly AttentionChoice[] = [
  choice(1.5, 64, 64, 16),
  choice(0.15, 32, 64, 16),
  choice(1, 32, 32, 8),
  choice(0, 16, 32, 8),
];

/** For software adapters: much work for each of few threads. The last is for what would mostly be padding in others. */
const SOFTWARE_TILES: readonly AttentionChoice[] = [
  choice(1, 32, 32, 16, [8, 8]),
  choice(1, 32, 32, 8, [8, 8]),
  choice(0, 16, 16, 8),
];

/** Every tile shape. */
export const ATTENTION_TILES: readonly AttentionTile[] = [
  ...GPU_TILES,
  ...WIDE_TILES,
  ...SOFTWARE_TILES,
].map(({ tile }) => tile);

/** Threads along a row. */
export function tileColumns({ bn, tn }: AttentionTile): number {
  return bn / tn;
}

/** Vectors of results that a thread makes in each row. */
export function resultVectors(shape: AttentionTile, width: number): number {
  return Math.ceil(width / (4 * tileColumns(shape)));
}

/**
 * Vectors of padding after each row of a slab: none for shifts in short slabs, of which many workgroups share a processor
 * and its memory.
 */
export function attentionPadding(
  shape: AttentionTile,
  needs: AttentionNeeds,
  target: ProductTarget,
): number {
  const { bk } = shape;
  const bytes = (padding: number): number => workgroupBytes(shape, needs, padding);
  return slabPadding(bk > 16 ? bk : 0, bytes, target);
}

/** Factors, and values, that lie in memory in another order have slabs of their own. */
function workgroupBytes(
  { bm, bn, bk, tn }: AttentionTile,
  { width, scores, results }: AttentionNeeds,
  padding: number,
): number {
  const columns = bn / tn;
  const along = Math.ceil(width / (4 * columns)) * columns;
  const orders = (count: number): number => Math.min(count, 2);
  const slabs =
    bk * (orders(scores) * (bm / 4 + bn / 4 + 2 * padding) + orders(results) * (along + padding));
  const weights = bn * (bm / 4 + Math.min(padding, 1));
  return 16 * (slabs + weights + columns * (bm / 4));
}

/** Whether a device can run a tile. */
export function attentionFits(
  tile: AttentionTile,
  needs: AttentionNeeds,
  target: ProductTarget,
): boolean {
  return (
    (tile.bm / tile.tm) * tileColumns(tile) <= target.maxWorkgroupThreads &&
    workgroupBytes(tile, needs, 0) <= target.maxWorkgroupBytes
  );
}

/** The widest results for which some tile fits any device. */
export const WIDEST_ATTENTION = 128;

function tilesFor(
  { width, rows, columns }: AttentionNeeds,
  { software }: ProductTarget,
): readonly AttentionChoice[] {
  if (software) return SOFTWARE_TILES.slice(Math.min(rows, columns) > 16 ? 0 : 2);
  return width > NARROW ? WIDE_TILES : GPU_TILES;
}

/** The first tile that gives a device as many workgroups as it wants of it. */
export function chooseAttentionTile(needs: AttentionNeeds, target: ProductTarget): AttentionTile {
  const usable = tilesFor(needs, target).filter(({ tile }) => attentionFits(tile, needs, target));
  const groups = ({ bm }: AttentionTile): number => Math.ceil(needs.rows / bm) * needs.batch;
  return usable.find(({ tile, enough }) => groups(tile) >= enough * target.parallelism)!.tile;
}
