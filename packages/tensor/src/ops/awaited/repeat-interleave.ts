/**
 * @file Awaited form of `repeatInterleave`: on devices that are read asynchronously, two numbers are.
 */
import { checkOptionNames } from '@tessera/shared';
import { keep } from '../../memory/tidy.js';
import { readList } from '../../read-values.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import {
  NEGATIVE,
  OUTPUT_SIZE,
  checkCounts,
  checkedRepeats,
  refuseRepeats,
} from '../arrange/repeat-counts.js';
import { repeatInterleave } from '../arrange/repeat-interleave.js';
import { toDtype } from '../arrange/copy.js';
import { stack } from '../arrange/join.js';
import { arange } from '../factory/range.js';
import { indexSelect } from '../indexing/select.js';
import { searchsorted } from '../order/search-sorted.js';
import { amin } from '../reduction/extremum.js';
import { cumsum } from '../scan/scan.js';
import { select } from '../view/slice.js';
import { checkTensors } from '../../check-tensors.js';

/** The sum of counts [N], with their running sums. @throws invalid-argument if one is negative */
async function total(counts: Tensor, ends: Tensor): Promise<number> {
  if (counts.numel === 0) return 0;
  const least = toDtype(amin(counts), 'int64');
  const read = stack([select(ends, 0, counts.numel - 1), least]);
  const [size, smallest] = await readList(read);
  if (smallest < 0) refuseRepeats(NEGATIVE);
  return size;
}

/**
 * Each element of a dimension of a tensor on any device (of the flattened tensor if null) repeated: as often as a number
 * says, or by a tensor of counts [N]. With `outputSize`, which is the sum of the counts, nothing is read, and so neither
 * checked. Differentiable.
 *
 * @throws invalid-argument, invalid-dim
 * @see torch.repeat_interleave
 */
export async function repeatInterleaveAsync(
  self: Tensor,
  repeats: number | Tensor,
  dim: number | null = null,
  options?: { outputSize?: number },
): Promise<Tensor> {
  checkOptionNames('repeatInterleaveAsync', options, OUTPUT_SIZE);
  checkTensors('repeatInterleaveAsync', { self });
  if (self.device === 'cpu' || !isTensor(repeats))
    return repeatInterleave(self, repeats, dim, options);
  const { input, at, counts } = checkedRepeats(self, repeats, dim);
  checkCounts(counts);
  const ends = keep(cumsum(counts, 0));
  const size = options?.outputSize ?? (await total(counts, ends));
  return indexSelect(
    input,
    at,
    searchsorted(ends, arange(size, { device: ends.device }), { right: true }),
  );
}
