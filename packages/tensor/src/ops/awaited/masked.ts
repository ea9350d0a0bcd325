/**
 * @file Awaited forms of picking by a mask: on devices that are read asynchronously, one number is read for each mask.
 */
import { checkMask, isMask } from '../../kernels/advanced-index.js';
import { broadcastShapes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { toDevice } from '../arrange/copy.js';
import { type TensorIndices, indexWith } from '../indexing/indexing.js';
import { type IndexItem, isTensorList, subscript } from '../indexing/items.js';
import { onlyMask } from '../indexing/masked-put.js';
import { index, maskedSelect } from '../indexing/subscript.js';
import { flatten } from '../view/dims.js';
import { expand, reshape } from '../view/view.js';
import { compact } from './compaction.js';
import { nonzeroNumpyAsync } from './nonzero.js';
import { lastCount, runningCount } from './running-count.js';
import { checkTensors } from '../../check-tensors.js';

/** The slices of a dimension where a flat mask holds. */
async function taken(self: Tensor, dim: number, mask: Tensor): Promise<Tensor> {
  const running = runningCount(toDevice(mask, self.device));
  return compact(self, dim, running, await lastCount(running));
}

/**
 * The elements where a mask holds of a tensor on any device, as a vector. Differentiable.
 *
 * @throws shape-mismatch
 * @see torch.masked_select
 */
export async function maskedSelectAsync(self: Tensor, mask: Tensor): Promise<Tensor> {
  checkTensors('maskedSelectAsync', { self, mask });
  if (self.device === 'cpu') return maskedSelect(self, mask);
  const sizes = broadcastShapes([self.sizes, mask.sizes], 'masked_select');
  return taken(reshape(expand(self, sizes), [-1]), 0, expand(mask, sizes));
}

/**
 * `self[items]` on any device, masks among the items. Differentiable.
 *
 * @throws invalid-argument, index-out-of-range, shape-mismatch, dtype-mismatch
 * @example const positive = await indexAsync(x, x.gt(0)); // x[x > 0]
 */
export async function indexAsync(
  self: Tensor,
  ...items: (IndexItem | TensorIndices)[]
): Promise<Tensor> {
  checkTensors('indexAsync', { self });
  if (self.device === 'cpu') return index(self, ...items);
  const { view, indices } =
    items.length === 1 && isTensorList(items[0])
      ? { view: self, indices: items[0] }
      : subscript(self, items as readonly IndexItem[]);
  const dim = onlyMask(indices);
  if (dim !== null) {
    const mask = indices[dim]!;
    checkMask(view.sizes, dim, mask);
    return taken(flatten(view, dim, dim + mask.ndim - 1), dim, mask);
  }
  if (!indices.some((each) => each !== null && isMask(each))) return index(self, ...items);
  let covered = 0;
  const places = indices.map((each) => {
    const from = covered;
    const replaced = each !== null && isMask(each);
    covered += replaced ? each.ndim : 1;
    if (!replaced) return [each];
    checkMask(view.sizes, from, each);
    return nonzeroNumpyAsync(each);
  });
  return indexWith(view, (await Promise.all(places)).flat());
}
