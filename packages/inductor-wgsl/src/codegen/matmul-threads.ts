/**
 * @file Which results of a workgroup's tile a thread makes: `row` and `column` among the threads, and its `slice` of k.
 */
import type { CodeBlock } from './code-block.js';
import { tileThreads, type MatmulTile } from './matmul-tiles.js';
import type { WgslTarget } from './target.js';

/**
 * Threads that run together on most GPUs. In a patch they read fewer rows and columns of the slabs than in a line.
 *
 * Memory serves a vector of four in turns of eight threads, and two turns at once where neighbours, or every other thread,
 * want the same vector. So neighbours share a column, and the two rows that they are of alternate along the line.
 */
const PATCH = { columns: 8, rows: 4, threads: 32 };

/** Declares `row`, `column` and, where threads share results, `slice`. */
export function placeThread(body: CodeBlock, tile: MatmulTile, target: WgslTarget): void {
  const { perSlice, columns, inPatches } = arrangement(tile, target);
  if (tile.slices > 1) body.line(`let slice = lane / ${perSlice}u;`);
  const within = tile.slices > 1 ? `(lane % ${perSlice}u)` : 'lane';
  if (!inPatches) {
    body.line(`let column = ${within} % ${columns}u;`);
    body.line(`let row = ${within} / ${columns}u;`);
    return;
  }
  const across = columns / PATCH.columns;
  body.line(`let cluster = ${within} / ${PATCH.threads}u;`);
  const half = PATCH.threads / 2;
  const along = `lane % ${half}u / 2u`;
  body.line(`let column = (cluster % ${across}u) * ${PATCH.columns}u + ${along};`);
  const down = `lane % ${PATCH.threads}u / ${half}u * 2u + lane % 2u`;
  body.line(`let row = (cluster / ${across}u) * ${PATCH.rows}u + ${down};`);
}

function arrangement(
  tile: MatmulTile,
  { software }: WgslTarget,
): { readonly perSlice: number; readonly columns: number; readonly inPatches: boolean } {
  const perSlice = tileThreads(tile) / tile.slices;
  const columns = tile.bn / tile.tn;
  const inPatches =
    !software && columns % PATCH.columns === 0 && perSlice % (PATCH.rows * columns) === 0;
  return { perSlice, columns, inPatches };
}

/** The bits of a thread's number in which those of a row differ; of tiles with one slice. */
export function rowBits(tile: MatmulTile, target: WgslTarget): readonly number[] {
  const { columns, inPatches } = arrangement(tile, target);
  const bits = Array.from({ length: Math.log2(columns) }, (_, i) => 2 ** i);
  if (!inPatches) return bits;
  return bits.map((bit) => (bit < PATCH.columns ? 2 * bit : (bit / PATCH.columns) * PATCH.threads));
}
