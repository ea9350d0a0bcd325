/**
 * @file Layouts changed in place: `t_`, `transpose_`, `squeeze_`, `unsqueeze_`, `as_strided_`, `detach_`.
 *
 * Inside a compiled function they break the graph: results recorded before and after would be the same
 * object in two layouts.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { defineLayoutInplace } from '../../op/inplace.js';
import type { Tensor } from '../../tensor.js';
import { detachOp } from '../arrange/copy.js';
import { squeezeDimOp, squeezeDimsOp, squeezeOp, tOp, transposeOp, unsqueezeOp } from './dims.js';
import { asStridedOp } from './strided.js';

const asStridedInplace = defineLayoutInplace(asStridedOp);
const detachInplace = defineLayoutInplace(detachOp);
const squeezeInplace = defineLayoutInplace(squeezeOp);
const squeezeDimInplace = defineLayoutInplace(squeezeDimOp);
const squeezeDimsInplace = defineLayoutInplace(squeezeDimsOp);
const tInplace = defineLayoutInplace(tOp);
const transposeInplace = defineLayoutInplace(transposeOp, 'default');
const unsqueezeInplace = defineLayoutInplace(unsqueezeOp);

/** Gives self sizes, strides and offset (elements; null keeps self's) over its memory. @throws invalid-argument, shape-mismatch, inplace-leaf */
export function asStrided_(
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  storageOffset: number | null = null,
): Tensor {
  return callOp(asStridedInplace, [self, size, stride, storageOffset]);
}

/** Drops the gradient history of self. @throws invalid-argument for views */
export function detach_(self: Tensor): Tensor {
  return callOp(detachInplace, [self]);
}

/** self = squeeze(self), in place. @throws invalid-dim, inplace-leaf */
export function squeeze_(self: Tensor, dim: number | readonly number[] | null = null): Tensor {
  if (dim === null) return callOp(squeezeInplace, [self]);
  const op = typeof dim === 'number' ? squeezeDimInplace : squeezeDimsInplace;
  return callOp(op, [self, dim]);
}

/** self = t(self), in place. @throws invalid-dim, inplace-leaf */
export function t_(self: Tensor): Tensor {
  return callOp(tInplace, [self]);
}

/** self = transpose(self), in place. @throws invalid-dim, inplace-leaf */
export function transpose_(self: Tensor, dim0: number, dim1: number): Tensor {
  return callOp(transposeInplace, [self, dim0, dim1]);
}

/** self = unsqueeze(self), in place. @throws invalid-dim, inplace-leaf */
export function unsqueeze_(self: Tensor, dim: number): Tensor {
  return callOp(unsqueezeInplace, [self, dim]);
}
