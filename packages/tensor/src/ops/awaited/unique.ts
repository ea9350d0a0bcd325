/**
 * @file Awaited forms of `unique` and `uniqueConsecutive`: on devices that are read asynchronously, one number is.
 *
 * Slices are put in order, neighbours are compared, and a running count of the changes numbers the groups.
 */
import { checkOptionNames } from '@tessera/shared';
import { keep } from '../../memory/tidy.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { clone, detach } from '../arrange/copy.js';
import { cat } from '../arrange/join.js';
import { full, ones, zeros } from '../factory/factory.js';
import { indexSelect } from '../indexing/select.js';
import { argsort } from '../order/sort.js';
import {
  type UniqueOptions,
  type UniqueResult,
  UNIQUE,
  checkSlices,
  chosen,
} from '../order/unique-options.js';
import { unique, uniqueConsecutive } from '../order/unique.js';
import { sub } from '../pointwise/arithmetic.js';
import { any } from '../reduction/logic.js';
import { diff } from '../scan/diff.js';
import { movedim } from '../view/dims.js';
import { reshape } from '../view/view.js';
import { changes, rowOrder } from './row-order.js';
import { lastCount, placesOf, runningCount } from './running-count.js';
import { checkTensors } from '../../check-tensors.js';

async function distinct<O extends UniqueOptions>(
  self: Tensor,
  options: O | undefined,
  sorted: boolean,
): Promise<UniqueResult<O>> {
  const { device } = self;
  const name = sorted ? 'unique_dim' : 'unique_consecutive';
  const dim = options?.dim == null ? null : wrapDim(options.dim, self.ndim, name);
  if (dim !== null) checkSlices(self, dim);
  const slices = detach(dim === null ? reshape(self, [-1]) : movedim(self, dim, 0));
  const length = slices.sizes[0]!;
  const shape = dim === null ? self.sizes : [length];
  if (length === 0) {
    const none = zeros([0], { dtype: 'int64', device });
    return chosen([clone(dim === null ? slices : self), reshape(none, shape), none], options);
  }
  const rows = reshape(slices, [length, -1]);
  const order = sorted ? keep(rowOrder(rows)) : null;
  const differ = any(changes(order === null ? rows : indexSelect(rows, 0, order)), 1);
  const group = runningCount(cat([ones([1], { dtype: 'bool', device }), differ]));
  const first = placesOf(group, await lastCount(group));
  const values = indexSelect(slices, 0, order === null ? first : indexSelect(order, 0, first));
  const inverse = (): Tensor => {
    const number = sub(group, 1);
    return reshape(order === null ? number : indexSelect(number, 0, argsort(order)), shape);
  };
  const counts = (): Tensor => diff(cat([first, full([1], length, { dtype: 'int64', device })]));
  return chosen(
    [
      movedim(values, 0, dim ?? 0),
      options?.returnInverse === true ? inverse() : first,
      options?.returnCounts === true ? counts() : first,
    ],
    options,
  );
}

/**
 * The distinct elements (with `dim`, slices) of a tensor on any device, in ascending order; each NaN is one. On devices
 * other than `cpu` one number is read.
 *
 * @throws invalid-dim, shape-mismatch
 * @see torch.unique
 * @example const [values, counts] = await uniqueAsync(x, { returnCounts: true });
 */
export async function uniqueAsync<const O extends UniqueOptions = Record<never, never>>(
  self: Tensor,
  options?: O,
): Promise<UniqueResult<O>> {
  checkOptionNames('uniqueAsync', options, UNIQUE);
  checkTensors('uniqueAsync', { self });
  if (self.device === 'cpu') return unique(self, options);
  return distinct(self, options, true);
}

/**
 * The first element (with `dim`, slice) of each run of equal ones of a tensor on any device. On devices other than `cpu`
 * one number is read.
 *
 * @throws invalid-dim, shape-mismatch
 * @see torch.unique_consecutive
 */
export async function uniqueConsecutiveAsync<const O extends UniqueOptions = Record<never, never>>(
  self: Tensor,
  options?: O,
): Promise<UniqueResult<O>> {
  checkOptionNames('uniqueConsecutiveAsync', options, UNIQUE);
  checkTensors('uniqueConsecutiveAsync', { self });
  if (self.device === 'cpu') return uniqueConsecutive(self, options);
  return distinct(self, options, false);
}
