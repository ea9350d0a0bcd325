/**
 * @file Awaited form of `bincount`: on devices that are read asynchronously, the least and the largest element are.
 */
import { checkOptionNames } from '@tessera/shared';
import { keep } from '../../memory/tidy.js';
import { readList } from '../../read-values.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { stack } from '../arrange/join.js';
import { zeros } from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { indexAdd } from '../indexing/select.js';
import { searchsorted } from '../order/search-sorted.js';
import { sort } from '../order/sort.js';
import {
  type BincountOptions,
  BINCOUNT,
  checkBincount,
  refuseCounted,
} from '../reduction/bincount-options.js';
import { amax, amin } from '../reduction/extremum.js';
import { bincount } from '../reduction/histogram.js';
import { diff } from '../scan/diff.js';
import { checkTensors } from '../../check-tensors.js';

/**
 * How often 0, 1, 2, … occur in integers [N] on any device: int64, or sums of their weights, which are float32 elsewhere
 * than on `cpu`.
 *
 * @throws invalid-argument, dtype-unsupported, shape-mismatch
 * @see torch.bincount
 */
export async function bincountAsync(self: Tensor, options?: BincountOptions): Promise<Tensor> {
  checkOptionNames('bincountAsync', options, BINCOUNT);
  checkTensors('bincountAsync', { self });
  if (self.device === 'cpu') return bincount(self, options);
  const { weights = null, minlength = 0 } = options ?? {};
  checkBincount(self, weights, minlength);
  const x = keep(toDtype(self, 'int64'));
  const { device } = self;
  let length = minlength;
  if (x.numel > 0) {
    const [least, most] = await readList(stack([amin(x), amax(x)]));
    if (least < 0) refuseCounted();
    length = Math.max(length, most + 1);
  }
  if (weights !== null) {
    const shares = toDtype(weights, 'float32');
    return indexAdd(zeros([length], { dtype: 'float32', device }), 0, x, shares);
  }
  const ends = searchsorted(sort(x, 0)[0], arange(length + 1, { device }));
  return diff(ends);
}
