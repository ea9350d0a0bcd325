/**
 * @file Attention on a machine with caches and without tiles of threads: how many rows and columns are weighed at once.
 *
 * A block of rows goes through all columns, a block of them at a time. Its scores, packed columns and sums stay in the
 * cache in between, so that nothing of the size of the scores is ever in memory.
 */
import { type Size, log, sizeHint } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import type { AttentionKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import type { AttentionWork } from '../../lower/ops/attention-kernel.js';

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

/** From so many scores of a head on, moving them takes longer than walking in blocks, which packs columns several times. */
const LONG = { forward: 1 << 14, 'gradients at once': 1 << 15, gradients: 1 << 17 };

/** Scores of all heads that gradients may leave in memory, where that is faster. */
const MOST_SCORES = 1 << 26;

/**
 * Whether blocks pay, rather than products and a softmax between them whose scores lie in memory.
 *
 * - Forward they do from about 128 × 128 scores of a head on, and for lengths that vary, which may grow.
 * - Gradients at once are as fast as those with scores in memory, and faster with a causal mask.
 * - Several kernels of gradients compute seven products instead of five. The half that a causal mask hides pays for it;
 *   others have blocks where the scores of all heads would take more than 256 MiB in float32.
 */
export function blocksPay({ heads, rows, keys, isCausal, made }: AttentionWork): boolean {
  const scores = sizeHint(rows) * sizeHint(keys);
  const varies = typeof rows !== 'number' || typeof keys !== 'number';
  const isLong =
    (made === 'forward' && varies) ||
    (scores >= LONG[made] && (made !== 'gradients' || isCausal)) ||
    scores * sizeHint(heads) > MOST_SCORES;
  log('schedule', () => {
    const where = isLong ? 'in blocks' : 'with scores in memory';
    return `attention of ${rows} rows over ${keys} keys, ${made}: ${where}`;
  });
  return isLong;
}

/** So many work items are enough for the threads of ordinary machines. */
const ITEMS = 8;

/** Whether gradients are one kernel, whose work items are heads of key and value: five products instead of seven. */
export function sumsColumns(heads: Size): boolean {
  return sizeHint(heads) >= ITEMS;
}
