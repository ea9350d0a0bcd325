/**
 * @file Batching of operators that pick elements by index tensors.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { getOp } from '../../op/op-overload.js';
import { broadcastShapes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { arange } from '../../ops/factory/range.js';
import { gather } from '../../ops/indexing/scatter.js';
import { movedim } from '../../ops/view/dims.js';
import { expand, permute, reshape } from '../../ops/view/view.js';
import type { BatchCall, BatchRule } from '../batch-call.js';
import { alongDims } from './dims.js';
import { sliced } from './sliced.js';
import type { DeviceType } from '../../device.js';

/** `index_select(self, dim, index)`: a gather where every example has its own index. */
export const indexSelect: BatchRule<{ self: Tensor; dim: number; index: Tensor }> = (call) => {
  const { self, dim, index } = call.named;
  if (self.ndim === 0 || index.ndim !== 1) return sliced(call);
  const at = call.dim(dim, self.ndim);
  if (!call.isBatched(index)) return call.run([call.values(self), at, index]);
  const values = call.spread(self);
  const shape = values.sizes.map((_, d) => (d === 0 ? call.size : d === at ? index.sizes[0]! : 1));
  const full = values.sizes.map((size, d) => (d === at ? index.sizes[0]! : size));
  return gather(values, at, expand(reshape(call.values(index), shape), full));
};

/** `index_add` and `index_copy` with one index for all examples. */
export const indexWrite: BatchRule<
  Record<'self' | 'index' | 'source', Tensor> & { dim: number }
> = (call) => {
  const { self, index, source, dim } = call.named;
  if (call.isBatched(index) || self.ndim === 0 || source.ndim !== self.ndim) return sliced(call);
  const values = { self: call.spread(self), source: call.spread(source) };
  return call.run(call.replaced(call.args, { ...values, dim: call.dim(dim, self.ndim) }));
};

/** `embedding(weight, indices, padding_idx)` */
export const embedding: BatchRule<
  Record<'weight' | 'indices', Tensor> & { padding_idx: number }
> = (call) => {
  const { weight, indices, padding_idx } = call.named;
  if (!call.isBatched(weight))
    return call.run(call.replaced(call.args, { indices: call.values(indices) }));
  // A row that takes no gradient is one per table.
  if (padding_idx >= 0) return sliced(call);
  const example = exampleNumbers(call, indices.ndim, weight.device);
  return callOp(getOp('aten::index.Tensor'), [
    call.values(weight),
    [example, call.aligned(indices, indices.ndim)],
  ]);
};

/** The number of each example, `[B, 1, …]`. */
function exampleNumbers(call: BatchCall, rank: number, device: DeviceType): Tensor {
  const numbers = arange(call.size, { dtype: 'int64', device });
  return reshape(numbers, [call.size, ...Array.from({ length: rank }, () => 1)]);
}

interface Layout {
  /** Dimensions of the indices, broadcast. */
  readonly rank: number;
  /** Whole dimensions in front of them in the result. */
  readonly lead: number;
  /** Whether whole dimensions lie between indexed ones: the indices' dimensions then come first. */
  readonly apart: boolean;
}

/** How the result of `self[indices]` is laid out for one example. */
function layoutOf(indices: readonly (Tensor | null)[]): Layout {
  const used = indices.flatMap((index, d) => (index === null ? [] : [d]));
  const rank = broadcastShapes(used.map((d) => indices[d]!.sizes)).length;
  const adjacent = used.every((d, i) => i === 0 || d === used[i - 1]! + 1);
  return { rank, lead: adjacent ? (used[0] ?? 0) : 0, apart: !adjacent };
}

/** Masks select a different number of elements of each example. @throws vmap-data-access */
function refuseMasks(call: BatchCall, indices: readonly (Tensor | null)[]): void {
  if (!indices.some((index) => index?.dtype === 'bool' && call.isBatched(index))) return;
  throw new TesseraError(
    'vmap-data-access',
    `vmap: ${call.op.schema.name} with a mask selects a different number of elements of each example.`,
    { hints: ['Use where(mask, x, 0) and keep the shape.'] },
  );
}

/** The indices of all examples together: the number of the example goes in front. */
function batchIndices(
  call: BatchCall,
  indices: readonly (Tensor | null)[],
  { rank }: Layout,
  device: DeviceType,
): (Tensor | null)[] {
  return [
    exampleNumbers(call, rank, device),
    ...indices.map((index) => (index === null ? null : call.aligned(index, rank))),
  ];
}

/** `index.Tensor(self, indices)` */
export const indexTensor: BatchRule<{ self: Tensor; indices: (Tensor | null)[] }, Tensor> = (
  call,
) => {
  const { self, indices } = call.named;
  refuseMasks(call, indices);
  if (indices.some((index) => index?.dtype === 'bool')) return sliced(call);
  const layout = layoutOf(indices);
  const { rank, lead } = layout;
  if (!call.isBatched(indices)) {
    const result = call.run([call.values(self), [null, ...indices]]);
    // In front of the batch too.
    return layout.apart ? movedim(result, rank, 0) : result;
  }
  const all = batchIndices(call, indices, layout, self.device);
  const result = call.run([call.spread(self), all]);
  if (lead === 0) return result;
  // [B, …index, …lead, …rest] → [B, …lead, …index, …rest]
  const dims = result.sizes.map((_, d) => d);
  const order = [0, ...dims.slice(1 + rank, 1 + rank + lead), ...dims.slice(1, 1 + rank)];
  return permute(result, [...order, ...dims.slice(1 + rank + lead)]);
};

/** `index_put(self, indices, values, accumulate)` */
export const indexPut: BatchRule<{
  self: Tensor;
  indices: (Tensor | null)[];
  values: Tensor;
  accumulate: boolean;
}> = (call) => {
  const { self, indices, values, accumulate } = call.named;
  refuseMasks(call, indices);
  if (indices.some((index) => index?.dtype === 'bool')) return sliced(call);
  const layout = layoutOf(indices);
  const { rank, lead } = layout;
  const shape = broadcastShapes(indices.flatMap((i) => (i === null ? [] : [i.sizes])));
  const whole = self.sizes.filter((_, d) => (indices[d] ?? null) === null);
  const sizes = [...whole.slice(0, lead), ...shape, ...whole.slice(lead)];
  const given = expand(call.aligned(values, sizes.length), [call.size, ...sizes]);
  const dims = given.sizes.map((_, d) => d);
  const order = [0, ...dims.slice(1 + lead, 1 + lead + rank), ...dims.slice(1, 1 + lead)];
  const placed = permute(given, [...order, ...dims.slice(1 + lead + rank)]);
  const all = batchIndices(call, indices, layout, self.device);
  return call.run([call.spread(self), all, placed, accumulate]);
};

/** `gather`, `scatter` and their kin: self, index and source have one rank. */
export const gathered: BatchRule = (call) => {
  const ranks = call.tensors().map(({ ndim }) => ndim);
  return ranks.every((rank) => rank === ranks[0]) ? alongDims(call) : sliced(call);
};
