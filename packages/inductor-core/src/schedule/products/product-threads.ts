/**
 * @file Which results of a group's tile a thread makes: `row` and `column` among the threads, and its `slice` of k.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import { modulo, over, sum, times, variable } from '../kernel/places.js';
import type { ScheduledBody, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { type MatmulTile, type ProductTarget, tileThreads } from './product-tiles.js';

/**
 * Threads that run together on most GPUs. In a patch they read fewer rows and columns of the slabs than in a line.
 *
 * Memory serves a vector of four in turns of eight threads, and two turns at once where neighbours, or every other thread,
 * want the same vector. So neighbours share a column, and the two rows that they are of alternate along the line.
 */
const PATCH = { columns: 8, rows: 4, threads: 32 };

/** Defines `row`, `column` and, where threads share results, `slice`. */
export function placeThread(tile: MatmulTile, target: ProductTarget): ScheduledBody {
  const { perSlice, columns, inPatches } = arrangement(tile, target);
  const lane = variable('lane');
  const set = (name: string, index: IndexExpr): ScheduledStmt => ({ kind: 'let', name, index });
  const slice = tile.slices > 1 ? [set('slice', over(lane, perSlice))] : [];
  const within = tile.slices > 1 ? modulo(lane, perSlice) : lane;
  if (!inPatches)
    return [...slice, set('column', modulo(within, columns)), set('row', over(within, columns))];
  const across = columns / PATCH.columns;
  const cluster = variable('cluster');
  const half = PATCH.threads / 2;
  const patches = across === 1 ? [] : [times(modulo(cluster, across), PATCH.columns)];
  const down = times(over(modulo(lane, PATCH.threads), half), 2);
  return [
    ...slice,
    set('cluster', over(within, PATCH.threads)),
    set('column', sum(...patches, over(modulo(lane, half), 2))),
    set('row', sum(times(over(cluster, across), PATCH.rows), down, modulo(lane, 2))),
  ];
}

function arrangement(
  tile: MatmulTile,
  { software }: ProductTarget,
): { readonly perSlice: number; readonly columns: number; readonly inPatches: boolean } {
  const perSlice = tileThreads(tile) / tile.slices;
  const columns = tile.bn / tile.tn;
  const inPatches =
    !software && columns % PATCH.columns === 0 && perSlice % (PATCH.rows * columns) === 0;
  return { perSlice, columns, inPatches };
}

/** The bits of a thread's number in which those of a row differ; of tiles with one slice. */
export function rowBits(tile: MatmulTile, target: ProductTarget): readonly number[] {
  const { columns, inPatches } = arrangement(tile, target);
  const bits = Array.from({ length: Math.log2(columns) }, (_, i) => 2 ** i);
  if (!inPatches) return bits;
  return bits.map((bit) => (bit < PATCH.columns ? 2 * bit : (bit / PATCH.columns) * PATCH.threads));
}
