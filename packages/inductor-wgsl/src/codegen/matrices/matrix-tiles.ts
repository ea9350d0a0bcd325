/**
 * @file Tiles of products that subgroup matrices compute, and which products those are.
 *
 * Both operands are float16, sums are float32. The table's order and thresholds come from measurements (README).
 */
import {
  chooseTile,
  isReduction,
  type MatmulKernel,
  matmulShape,
  type TileChoice,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { isHalf } from './half-values.js';
import type { MatrixShape, WgslTarget } from '../target.js';
import { computeType } from '../values/wgsl-types.js';

/** A workgroup makes `bm × bn` results from slabs of `bk`; each subgroup makes `sm × sn` of them. */
export interface MatrixTile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly sm: number;
  readonly sn: number;
}

/** Values of padding after each row of a slab: rows begin in different banks of memory, at multiples of 16 bytes. */
export const SLAB_PADDING = 8;

function row(tile: MatrixTile, enough: number): TileChoice<MatrixTile> {
  return { tile, enough };
}

/** Largest first: the first that suits a shape is taken. */
const MATRIX_TILES: readonly TileChoice<MatrixTile>[] = [
  row({ bm: 128, bn: 256, bk: 32, sm: 64, sn: 64 }, 0.5),
  row({ bm: 128, bn: 128, bk: 32, sm: 64, sn: 64 }, 0.7),
  row({ bm: 64, bn: 64, bk: 64, sm: 32, sn: 32 }, 0.5),
  row({ bm: 32, bn: 32, bk: 64, sm: 16, sn: 16 }, 0.5),
  row({ bm: 16, bn: 64, bk: 64, sm: 16, sn: 16 }, 0.5),
];

/** The tiles that a device can run. */
export function matrixTilesFor(target: WgslTarget): readonly MatrixTile[] {
  return choicesFor(target).map(({ tile }) => tile);
}

function choicesFor(target: WgslTarget): readonly TileChoice<MatrixTile>[] {
  return MATRIX_TILES.filter(({ tile }) => matrixTileFits(tile, target));
}

/** Whether a device can run a tile. */
export function matrixTileFits(tile: MatrixTile, target: WgslTarget): boolean {
  const { matrices, maxWorkgroupThreads, maxWorkgroupBytes } = target;
  if (matrices === null) return false;
  const { m, n, k } = matrices;
  return (
    tile.sm % m === 0 &&
    tile.sn % n === 0 &&
    tile.bk % k === 0 &&
    matrixThreads(tile, target) <= maxWorkgroupThreads &&
    matrixBytes(tile, matrices) <= maxWorkgroupBytes
  );
}

/** Subgroups of a workgroup. */
export function matrixSubgroups({ bm, bn, sm, sn }: MatrixTile): number {
  return (bm / sm) * (bn / sn);
}

/** Threads of a workgroup. */
export function matrixThreads(tile: MatrixTile, { subgroups }: WgslTarget): number {
  return matrixSubgroups(tile) * (subgroups?.max ?? 0);
}

/** Bytes of workgroup memory at most: both slabs, and a matrix of results of each subgroup. */
export function matrixBytes(tile: MatrixTile, { m, n }: MatrixShape): number {
  const { bm, bn, bk } = tile;
  const slab = (x: number): number =>
    2 * Math.max(x * (bk + SLAB_PADDING), bk * (x + SLAB_PADDING));
  return slab(bm) + slab(bn) + 4 * matrixSubgroups(tile) * m * n;
}

/** The tile of a product for which subgroup matrices are used; null for others. */
export function matrixTile(kernel: MatmulKernel<Size>, target: WgslTarget): MatrixTile | null {
  const choices = choicesFor(target);
  const suits =
    choices.length > 0 &&
    !isReduction(kernel) &&
    computeType(kernel.accDtype) === 'f32' &&
    isHalf(kernel.a) &&
    isHalf(kernel.b);
  return suits ? chooseTile(choices, matmulShape(kernel), target) : null;
}
