/**
 * @file Running counts, from which results come whose size depends on values: the last one, read back, is the size, and
 * a bisection for what exceeds 0, 1, 2, … among them finds the places.
 *
 * Everything but that number stays on the device. What is used behind the read is kept beyond open `tidy` scopes.
 */
import { keep } from '../../memory/tidy.js';
import { readItem } from '../../read-values.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { arange } from '../factory/range.js';
import { searchsorted } from '../order/search-sorted.js';
import { ne } from '../pointwise/comparison.js';
import { cumsum } from '../scan/scan.js';
import { narrow, select } from '../view/slice.js';
import { reshape } from '../view/view.js';

/** How many elements up to each, in row-major order, are not 0: int64 [numel]. */
export function runningCount(self: Tensor): Tensor {
  return keep(cumsum(reshape(ne(self, 0), [-1]), 0));
}

/**
 * The last of running counts [N], the one number that is read; 0 if there are none. Memory of its own is read, as
 * compiled functions can give that alone.
 */
export async function lastCount(running: Tensor): Promise<number> {
  const { numel } = running;
  return numel === 0 ? 0 : Number(await readItem(clone(select(running, 0, numel - 1))));
}

/**
 * Where running counts [N] first exceed 0, 1, …, `count` - 1: int64 [count]. What is looked for is part of 0, 1, …, N - 1,
 * so that all counts share code.
 */
export function placesOf(running: Tensor, count: number): Tensor {
  const numbers = arange(running.numel, { device: running.device });
  return searchsorted(running, narrow(numbers, 0, 0, count), { right: true });
}
