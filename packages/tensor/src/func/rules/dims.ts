/**
 * @file Batching of operators that name dimensions: reductions, scans, sorting, gathering, joining.
 *
 * The batch lies in front, so every dimension is one further back. An example without dimensions, for which
 * dimension 0 (or -1) means its only number, is given one for the call.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { getOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { squeeze, unsqueeze } from '../../ops/view/dims.js';
import { reshape } from '../../ops/view/view.js';
import { type BatchCall, type BatchRule, mapResult } from '../batch-call.js';

const NAMES = ['dim', 'dims', 'dim0', 'dim1', 'dim2', 'dimension'];

/** The dimension arguments of the call, moved; left out or empty lists name all dimensions of the example. */
function movedDims(call: BatchCall, rank: number): Record<string, unknown> {
  const moved: Record<string, unknown> = {};
  for (const { name, type } of call.op.schema.args) {
    if (!NAMES.includes(name)) continue;
    const given = call.args[call.op.argIndex.get(name)!];
    if (typeof given === 'number') moved[name] = call.dim(given, rank);
    else if (Array.isArray(given) && given.length > 0)
      moved[name] = (given as number[]).map((dim) => call.dim(dim, rank));
    else if (type.list) moved[name] = Array.from({ length: rank }, (_, i) => i + 1);
    if (typeof given === 'number' && type.list) moved[name] = [moved[name]];
  }
  return moved;
}

/** The operator with its dimensions moved, on operands of one rank. */
export const alongDims: BatchRule = (call) => {
  const tensors = call.tensors();
  const rank = tensors[0]!.ndim;
  const single = tensors.length === 1;
  const values = (tensor: Tensor): Tensor => {
    const whole = single ? call.values(tensor) : call.spread(tensor);
    return rank === 0 && tensor.ndim === 0 ? unsqueeze(whole, 1) : whole;
  };
  const args = call.replaced(call.mapTensors(values), movedDims(call, Math.max(rank, 1)));
  const result = call.run(args);
  return rank > 0
    ? result
    : mapResult(result, (tensor) => (tensor.ndim > 1 ? squeeze(tensor, 1) : tensor));
};

/** A view that names dimensions; of an example without any, that changes nothing. */
export const viewAlongDims: BatchRule = (call) => {
  const self = call.tensors()[0]!;
  const values = call.values(self);
  if (self.ndim === 0) return callOp(getOp('aten::alias'), [values]);
  return call.run(
    call.replaced(
      call.mapTensors(() => values),
      movedDims(call, self.ndim),
    ),
  );
};

/** A gradient written into zeros of an input's sizes, in which it counts dimensions. */
export const intoZeros: BatchRule<{ grad_output: Tensor; input_sizes: number[] }> = (call) => {
  const { grad_output: grad, input_sizes } = call.named;
  return call.run(
    call.replaced(call.args, {
      grad_output: call.values(grad),
      input_sizes: [call.size, ...input_sizes],
      ...movedDims(call, input_sizes.length),
    }),
  );
};

/** `unsqueeze(self, dim)` counts the new dimension too. */
export const unsqueezeView: BatchRule<{ self: Tensor; dim: number }> = (call) => {
  const { self, dim } = call.named;
  return unsqueeze(call.values(self), call.dim(dim, self.ndim + 1));
};

/** `squeeze(self)` removes the batch never. */
export const squeezeAll: BatchRule = (call) => {
  const self = call.tensors()[0]!;
  const dims = self.sizes.flatMap((size, d) => (size === 1 ? [d + 1] : []));
  return squeeze(call.values(self), dims);
};

/** A reduction of everything, by the overload that reduces one dimension. */
export function overAll(name: string, rest: readonly unknown[] = []): BatchRule {
  return (call) => {
    const self = call.tensors()[0]!;
    const flat = reshape(call.values(self), [call.size, -1]);
    const result = callOp(getOp(name), [flat, 1, false, ...rest]);
    return Array.isArray(result) ? result[0] : result;
  };
}

/** `prod(self, dtype)` */
export const prodAll: BatchRule<{ self: Tensor; dtype: unknown }> = (call) => {
  const { self, dtype } = call.named;
  const flat = reshape(call.values(self), [call.size, -1]);
  return callOp(getOp('aten::prod.dim_int'), [flat, 1, false, dtype]);
};

/** `argmax(self, dim?, keepdim)`: without a dimension, the position in the flattened example. */
export const position: BatchRule<{ self: Tensor; dim: number | null; keepdim: boolean }, Tensor> = (
  call,
) => {
  const { self, dim, keepdim } = call.named;
  if (dim !== null) return alongDims(call);
  const flat = reshape(call.values(self), [call.size, -1]);
  const found = call.run([flat, 1, false]);
  return keepdim ? reshape(found, [call.size, ...self.sizes.map(() => 1)]) : found;
};
