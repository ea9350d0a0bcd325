/**
 * @file The lexicographic order of the rows of a matrix, by sorts of columns and ranks.
 */
import type { Tensor } from '../../tensor.js';
import { cat } from '../arrange/join.js';
import { zeros } from '../factory/factory.js';
import { gather } from '../indexing/scatter.js';
import { argsort } from '../order/sort.js';
import { ne } from '../pointwise/comparison.js';
import { logicalOr } from '../pointwise/logical.js';
import { pad } from '../resample/pad.js';
import { cumsum } from '../scan/scan.js';
import { narrow, select } from '../view/slice.js';
import { reshape } from '../view/view.js';

/** Whether each slice of dimension 0, but the first, differs from the one before it, by element. */
export function changes(x: Tensor): Tensor {
  const rest = x.sizes[0]! - 1;
  return ne(narrow(x, 0, 1, rest), narrow(x, 0, 0, rest));
}

/** Indices [N] that sort rows [N, W], W ≥ 1; equal ones stay in order, and those with NaN come last or in some place. */
export function rowOrder(rows: Tensor): Tensor {
  let ranks = rows;
  // Ranks of pairs of columns, of pairs of pairs, …: log W rounds.
  while (ranks.sizes[1]! > 1) {
    const even = ranks.sizes[1]! % 2 === 0 ? ranks : pad(ranks, [0, 1]);
    const pairs = reshape(even, [even.sizes[0]!, -1, 2]);
    const [high, low] = [select(pairs, 2, 0), select(pairs, 2, 1)];
    const byLow = argsort(low, 0);
    const order = gather(byLow, 0, argsort(gather(high, 0, byLow), 0));
    const moved = logicalOr(changes(gather(high, 0, order)), changes(gather(low, 0, order)));
    const first = zeros([1, order.sizes[1]!], { dtype: 'int64', device: rows.device });
    ranks = gather(cat([first, cumsum(moved, 0)]), 0, argsort(order, 0));
  }
  return argsort(select(ranks, 1, 0), 0);
}
