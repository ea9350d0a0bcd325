/**
 * @file Layouts changed in place: `t_`, `transpose_`, `squeeze_`, `unsqueeze_`, `as_strided_`, `detach_`.
 *
 * Inside a compiled function they break the graph: results recorded before and after would be the same
 * object in two layouts.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { defineLayoutInplace } from '../../op/inplace.js';
import { getOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import '../arrange/copy.js';
import './dims.js';
import './strided.js';

const asStridedInplace = defineLayoutInplace(getOp('aten::as_strided'));
const detachInplace = defineLayoutInplace(getOp('aten::detach'));
const squeezeInplace = defineLayoutInplace(getOp('aten::squeeze'));
const squeezeDimInplace = defineLayoutInplace(getOp('aten::squeeze.dim'));
const squeezeDimsInplace = defineLayoutInplace(getOp('aten::squeeze.dims'));
const tInplace = defineLayoutInplace(getOp('aten::t'));
const transposeInplace = defineLayoutInplace(getOp('aten::transpose.int'), 'default');
const unsqueezeInplace = defineLayoutInplace(getOp('aten::unsqueeze'));

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
