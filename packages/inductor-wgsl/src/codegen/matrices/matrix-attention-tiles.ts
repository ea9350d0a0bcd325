/**
 * @file Tiles of attention by subgroup matrices, and which attention that is.
 *
 * Factors and values are float16, sums are float32; weights are rounded to float16 before they meet the values, as
 * PyTorch does.
 */
import {
  type AttentionKernel,
  type AttentionNeeds,
  type AttentionTile,
  extent,
  rowBits,
  WIDEST_ATTENTION,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { isHalf } from './half-values.js';
import { SLAB_PADDING } from './matrix-tiles.js';
import type { WgslTarget } from '../target.js';
import { computeType } from '../values/wgsl-types.js';

/** `bm` rows of results from `bn` columns of weights at a time; threads hold `tm × tn` weights, subgroups whole rows. */
export type MatrixAttentionTile = AttentionTile;

/** k of the first factor that is loaded at a time, before the columns are gone through. */
export const FACTOR_CHUNK = 64;

function tile(bm: number, bn: number, tm: 4 | 8, tn: 4 | 8): MatrixAttentionTile {
  return { bm, bn, bk: bn, tm, tn, slices: 1 };
}

/**
 * The first of which there are enough is the fastest (NVIDIA H200), the largest for heads wider than 64 only: there the
 * second takes 1.6 times as long, for heads of 64 the first 1.1 times. Tiles of 64 columns take 1.2 to 1.7 times as long,
 * subgroups of 32 rows more.
 */
export const MATRIX_ATTENTION_TILES: readonly MatrixAttentionTile[] = [
  tile(128, 32, 4, 4),
  tile(64, 32, 4, 4),
  tile(32, 32, 4, 4),
];

/** Widths of heads up to which a tile of 128 rows is not the best. */
const NARROW = 64;

/** Threads of a workgroup. */
export function matrixAttentionThreads({ bm, bn, tm, tn }: MatrixAttentionTile): number {
  return (bm / tm) * (bn / tn);
}

/** Sizes of k and n, in whole matrices; null where they are not known. */
export function matrixWidths(
  { k, n }: AttentionKernel<Size>,
  target: WgslTarget,
): { readonly k: number; readonly n: number } | null {
  const [depth, width] = [extent(k), extent(n)];
  if (target.matrices === null || typeof depth !== 'number' || typeof width !== 'number')
    return null;
  const { n: across, k: down } = target.matrices;
  return { k: Math.ceil(depth / down) * down, n: Math.ceil(width / across) * across };
}

/** Values of the memory that all slabs take in turns, whatever their order. */
export function sharedSlabValues(
  { bm, bn }: MatrixAttentionTile,
  { k, n }: { readonly k: number; readonly n: number },
): number {
  const either = (x: number, y: number): number =>
    Math.max(x * (y + SLAB_PADDING), y * (x + SLAB_PADDING));
  return Math.max(either(bm, Math.min(k, FACTOR_CHUNK)), either(bn, k), either(bn, n));
}

/** Values from one row of weights, and of scores, to the next. */
export function weightStride({ bn }: MatrixAttentionTile): number {
  return bn + SLAB_PADDING;
}

/** Padding spreads rows over the banks of memory. */
export function scoreStride({ bn }: MatrixAttentionTile): number {
  return bn + 4;
}

/** Whether a device can run a tile. */
export function matrixAttentionFits(
  tile: MatrixAttentionTile,
  kernel: AttentionKernel<Size>,
  target: WgslTarget,
): boolean {
  const widths = matrixWidths(kernel, target);
  const { matrices, subgroups, maxWorkgroupBytes, maxWorkgroupThreads } = target;
  if (widths === null || matrices === null || subgroups === null) return false;
  const { bm, bn, tm } = tile;
  const threads = matrixAttentionThreads(tile);
  const perSubgroup = (bm * subgroups.max) / threads;
  const bytes =
    2 * (sharedSlabValues(tile, widths) + bm * weightStride(tile)) +
    4 * bm * (scoreStride(tile) + 1) +
    16;
  return (
    threads % subgroups.max === 0 &&
    threads <= maxWorkgroupThreads &&
    perSubgroup % matrices.m === 0 &&
    bn % matrices.n === 0 &&
    bn % matrices.k === 0 &&
    bn >= kernel.values.length * matrices.n &&
    tm % 4 === 0 &&
    rowBits(tile, target).every((bit) => 2 * bit <= subgroups.min) &&
    bytes <= maxWorkgroupBytes
  );
}

/** The tile of a kernel for which subgroup matrices are used; null for others. */
export function matrixAttentionTile(
  kernel: AttentionKernel<Size>,
  needs: AttentionNeeds,
  target: WgslTarget,
): MatrixAttentionTile | null {
  const widths = matrixWidths(kernel, target);
  const suits =
    widths !== null &&
    Math.max(widths.k, widths.n) <= WIDEST_ATTENTION &&
    computeType(kernel.accDtype) === 'f32' &&
    kernel.scores.length > 0 &&
    kernel.weightStores.length === 0 &&
    kernel.scores.every(({ a, b }) => isHalf(a) && isHalf(b)) &&
    kernel.values.every(isHalf);
  if (!suits) return null;
  const usable = MATRIX_ATTENTION_TILES.filter(
    (tile) => (tile.bm <= 64 || widths.n > NARROW) && matrixAttentionFits(tile, kernel, target),
  );
  const groups = ({ bm }: MatrixAttentionTile): number => Math.ceil(needs.rows / bm) * needs.batch;
  return usable.find((tile) => groups(tile) >= target.parallelism) ?? usable.at(-1) ?? null;
}
