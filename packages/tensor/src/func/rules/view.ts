/**
 * @file Batching of views and factories that are told sizes: the batch comes first.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { getOp } from '../../op/op-overload.js';
import { inferShape } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { transpose } from '../../ops/view/dims.js';
import { expand, permute, reshape, view } from '../../ops/view/view.js';
import type { BatchRule } from '../batch-call.js';

/** `view(self, size)` */
export const viewRule: BatchRule<{ self: Tensor; size: number[] }> = (call) => {
  const { self, size } = call.named;
  return view(call.values(self), [call.size, ...inferShape(size, self.numel)]);
};

/** `expand(self, size)`: new dimensions of an example go between the batch and its own. */
export const expandRule: BatchRule<{ self: Tensor; size: number[] }> = (call) => {
  const { self, size } = call.named;
  const lead = size.length - self.ndim;
  const own = reshape(call.values(self), [
    call.size,
    ...Array.from({ length: Math.max(lead, 0) }, () => 1),
    ...self.sizes,
  ]);
  return expand(own, [call.size, ...size]);
};

/** `permute(self, dims)` */
export const permuteRule: BatchRule<{ self: Tensor; dims: number[] }> = (call) => {
  const { self, dims } = call.named;
  return permute(call.values(self), [0, ...dims.map((dim) => call.dim(dim, self.ndim))]);
};

/** `t(self)` */
export const transposeRule: BatchRule = (call) => {
  const self = call.tensors()[0]!;
  const values = call.values(self);
  return self.ndim < 2 ? callOp(getOp('aten::alias'), [values]) : transpose(values, 1, 2);
};

/** `new_zeros(self, size)` and its kin. */
export const newSize: BatchRule<{ self: Tensor; size: number[] }> = (call) => {
  const { self, size } = call.named;
  return call.run(
    call.replaced(call.args, { self: call.values(self), size: [call.size, ...size] }),
  );
};

/** Operators on the last dimensions, with any number of others in front. */
export const onLastDims: BatchRule = (call) =>
  call.run(call.mapTensors((tensor) => call.spread(tensor)));
