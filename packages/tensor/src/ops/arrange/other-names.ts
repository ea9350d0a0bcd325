/**
 * @file Other names that PyTorch's tensors have for the same things, methods only.
 */
import type { ScalarLike } from '@tessera/shared';
import type { Tensor } from '../../tensor.js';
import { neg } from '../pointwise/arithmetic.js';
import { where as choose } from '../pointwise/where.js';
import { expand } from '../view/view.js';
import { movedim, transpose } from '../view/dims.js';
import { toDtype } from './copy.js';

/** `neg` */
export const negative: typeof neg = neg;
/** `transpose` */
export const swapaxes: typeof transpose = transpose;
/** `transpose` */
export const swapdims: typeof transpose = transpose;
/** `movedim` */
export const moveaxis: typeof movedim = movedim;

/** `toArray` */
export function tolist(self: Tensor): ReturnType<Tensor['toArray']> {
  return self.toArray();
}

/** self on the host. */
export function cpu(self: Tensor): Tensor {
  return self.to('cpu');
}

/** `expand` to sizes that self broadcasts to. @throws shape-mismatch */
export function broadcastTo(self: Tensor, sizes: readonly number[]): Tensor {
  return expand(self, sizes);
}

/** self in the dtype of another tensor. */
export function typeAs(self: Tensor, other: Tensor): Tensor {
  return toDtype(self, other?.dtype);
}

/** self where the condition holds, else `other`. @throws shape-mismatch, dtype-mismatch */
export function where(self: Tensor, condition: Tensor, other: Tensor | ScalarLike): Tensor {
  return choose(condition, self, other);
}
