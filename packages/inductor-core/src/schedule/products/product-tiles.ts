/**
 * @file Tile shapes of the register-tiled products, as data, and the choice among them.
 *
 * On GPUs the tile that should be fastest is taken, by times that were measured (`product-times.ts`); a tuner may put
 * winners in a `TileMemory`, which is asked first.
 */
import { productTime, TIMED_TILES } from './product-times.js';
import { slabPadding } from './slab-layout.js';
import { ceilPower, type ThreadTarget } from '../threads/thread-target.js';

/**
 * A workgroup makes `bm × bn` results from slabs of `bk`; each thread makes `tm × tn` of them (4 or 8
 * each), and `slices` threads share one such block, each taking every `slices`-th step of k.
 */
export interface MatmulTile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: 4 | 8;
  readonly tn: 4 | 8;
  readonly slices: number;
}

/** Results that a workgroup makes. */
export type ResultTile = Pick<MatmulTile, 'bm' | 'bn'>;

/** What the choice depends on. */
export type ProductTarget = Pick<
  ThreadTarget,
  'maxWorkgroupThreads' | 'maxWorkgroupBytes' | 'parallelism' | 'software'
>;

/** Extents of a product: [B, M, K] @ [B, K, N]. */
export interface MatmulShape {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** A tile, and how much of it a device wants. */
export interface TileChoice<Tile extends ResultTile = MatmulTile> {
  readonly tile: Tile;
  /** Workgroups that keep the device busy, as a share of its `parallelism`. */
  readonly enough: number;
}

/** A row of the table of software adapters. */
function row(bm: number, bn: number, bk: number, tm: 4 | 8, tn: 4 | 8): TileChoice {
  return { tile: { bm, bn, bk, tm, tn, slices: 1 }, enough: 1 };
}

/** For software adapters: much work for each of few threads. */
const SOFTWARE_TILES: readonly TileChoice[] = [
  row(64, 64, 16, 8, 8),
  row(32, 32, 16, 8, 8),
  row(16, 16, 16, 4, 4),
];

/** Every tile shape that the tuner tries on a GPU. */
export const MATMUL_TILES: readonly MatmulTile[] = TIMED_TILES.map(({ tile }) => tile);

function fitting<Choice extends { readonly tile: MatmulTile }>(
  table: readonly Choice[],
  target: ProductTarget,
): readonly Choice[] {
  return table.filter(({ tile }) => tileFits(tile, target));
}

/** The tiles among which those for a device are chosen, and measured. */
export function tilesFor(target: ProductTarget): readonly MatmulTile[] {
  const table: readonly { readonly tile: MatmulTile }[] = target.software
    ? SOFTWARE_TILES
    : TIMED_TILES;
  return fitting(table, target).map(({ tile }) => tile);
}

/** Threads of a workgroup. */
export function tileThreads(tile: MatmulTile): number {
  return (tile.bm / tile.tm) * (tile.bn / tile.tn) * tile.slices;
}

/** Vectors of padding after each row of a slab. */
export function tilePadding(tile: MatmulTile, target: ProductTarget): number {
  return slabPadding(tile.bk, (padding) => tileBytes(tile, padding), target);
}

/** Bytes of workgroup memory. */
export function tileBytes(tile: MatmulTile, padding: number): number {
  const slabs = tile.bk * (tile.bm / 4 + tile.bn / 4 + 2 * padding) * 16;
  const partials = (tile.slices >> 1) * tile.bm * tile.bn * 4;
  return slabs + partials;
}

/** Whether a device can run a tile. */
export function tileFits(tile: MatmulTile, target: ProductTarget): boolean {
  return (
    tileThreads(tile) <= target.maxWorkgroupThreads &&
    tileBytes(tile, 0) <= target.maxWorkgroupBytes
  );
}

/** Shapes for which the same tile is best: extents rounded up to powers of two. */
export function matmulShapeClass(shape: MatmulShape): string {
  return `${ceilPower(shape.batch)}x${ceilPower(shape.m)}x${ceilPower(shape.n)}x${ceilPower(shape.k)}`;
}

/** Tiles found best by measurement, by `matmulClass`. Serialisable with `Object.fromEntries`. */
export type TileMemory = Map<string, MatmulTile>;

/** Multiplications for which a shader may take three times as long to compile. */
const LARGE = 2 ** 27;

/** Steps of a slab that are always written out. */
const FEW_STEPS = 4;

/** Whether the steps of a slab are written out. */
export function isWrittenOut({ bk, slices }: MatmulTile, shape: MatmulShape): boolean {
  return isLarge(shape) || bk / slices <= FEW_STEPS;
}

/** Whether a product is worth that its steps are written out, which makes it a fifth faster. */
export function isLarge({ batch, m, n, k }: MatmulShape): boolean {
  return batch * m * n * k >= LARGE;
}

/**
 * The fastest tile of a GPU for a shape, and its time in microseconds on the card that was measured.
 *
 * @param besides microseconds that a tile takes besides the product
 */
export function fastestTile(
  shape: MatmulShape,
  target: ProductTarget,
  besides: (tile: MatmulTile) => number = () => 0,
): { readonly tile: MatmulTile; readonly time: number } {
  return fitting(TIMED_TILES, target)
    .map((timed) => {
      const { tile } = timed;
      const time = productTime(timed, shape, isWrittenOut(tile, shape)) + besides(tile);
      return { tile, time };
    })
    .reduce((best, other) => (other.time < best.time ? other : best));
}

/** The tile for a shape: a remembered one, or that which suits it best. */
export function chooseMatmulTile(
  shape: MatmulShape,
  target: ProductTarget,
  remembered?: MatmulTile,
): MatmulTile {
  if (remembered !== undefined && tileFits(remembered, target)) return remembered;
  if (!target.software) return fastestTile(shape, target).tile;
  return chooseTile(fitting(SOFTWARE_TILES, target), shape, target);
}

/** A rest of results mostly has few rows, if any. */
const FEW_ROWS = 64;

/** Microseconds of a workgroup that ends at once, for each of its threads (NVIDIA H200). */
const ENDING_THREAD = 2e-5;

/** The tile for what another kernel leaves of a product: that which suits a few rows of it, and ends soon for the others. */
export function chooseRestTile(shape: MatmulShape, target: ProductTarget): MatmulTile {
  const few = { ...shape, m: Math.min(shape.m, FEW_ROWS) };
  if (target.software) return chooseMatmulTile(few, target);
  const ending = (tile: MatmulTile): number =>
    tileGroups(tile, shape) * tileThreads(tile) * ENDING_THREAD;
  return fastestTile(few, target, ending).tile;
}

/** The first tile that gives the device enough workgroups and does not compute mostly padding; else the smallest. */
export function chooseTile<Tile extends ResultTile>(
  usable: readonly TileChoice<Tile>[],
  shape: MatmulShape,
  { parallelism }: ProductTarget,
): Tile {
  const groups = (tile: Tile): number => tileGroups(tile, shape);
  const waste = (tile: Tile): number =>
    (groups(tile) * tile.bm * tile.bn) / (shape.m * shape.n * shape.batch);
  const least = Math.min(...usable.map(({ tile }) => waste(tile)));
  const full = usable.filter(({ tile }) => waste(tile) <= Math.max(1.25, least * 1.25));
  const busy = full.find(({ tile, enough }) => groups(tile) >= enough * parallelism);
  return busy?.tile ?? smallest(full.map(({ tile }) => tile));
}

/** Workgroups that make the results of a product. */
export function tileGroups({ bm, bn }: ResultTile, { batch, m, n }: MatmulShape): number {
  return Math.ceil(m / bm) * Math.ceil(n / bn) * batch;
}

/** The first of the tiles with the fewest results. */
function smallest<Tile extends ResultTile>(tiles: readonly Tile[]): Tile {
  return tiles.reduce((best, tile) => (tile.bm * tile.bn < best.bm * best.bn ? tile : best));
}
