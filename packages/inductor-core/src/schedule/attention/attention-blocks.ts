/**
 * @file Attention on a machine with caches and without tiles of threads: how many rows and columns are weighed at once.
 *
 * A block of rows goes through all columns, a block of them at a time. Its scores, packed columns and sums stay in the
 * cache in between, so that nothing of the size of the scores is ever in memory.
 */
import { type Size, sizeHint } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import type { AttentionKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';

/** See the file header. */
export interface AttentionBlocks {
  readonly rows: number;
  readonly columns: number;
}

/** What blocks are multiples of: whole vectors and tiles of registers. */
const GRAIN = 8;
const MOST_ROWS = 128;
const MOST_COLUMNS = 256;

function blockOf(vars: Parameters<typeof extent>[0], most: number): number {
  const length = sizeHint(extent(vars));
  const isKnown = typeof extent(vars) === 'number';
  return isKnown ? Math.min(most, Math.ceil(length / GRAIN) * GRAIN) : most;
}

/** Chooses blocks that fit into `cacheBytes` together with what is multiplied with them. */
export function attentionBlocks(
  { m, j, k, n, scores, weights, accDtype }: AttentionKernel<Size>,
  cacheBytes: number,
): AttentionBlocks {
  const rows = blockOf(m, MOST_ROWS);
  const bytes = itemSize(accDtype);
  const arrays = Math.max(scores.length, weights.length);
  const widths = sizeHint(extent(k)) + sizeHint(extent(n));
  const perColumn = (arrays * rows + widths) * bytes;
  const fitting = Math.floor((cacheBytes - rows * widths * bytes) / perColumn / GRAIN) * GRAIN;
  return { rows, columns: blockOf(j.slice(-1), Math.max(GRAIN, Math.min(MOST_COLUMNS, fitting))) };
}
