/**
 * @file What the average poolings share.
 */
import { TesseraError } from '@tessera/shared';
import { channelsLastStrides, isChannelsLast } from '../../kernels/pointwise-strides.js';
import type { TensorMeta } from '../../op/op-record.js';
import { contiguousStrides, formatSizes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';

/** Meta of a pooling of `self`: its layout, another size. */
export function poolMeta(self: Tensor, sizes: readonly number[]): TensorMeta {
  const channelsLast = isChannelsLast(self.sizes, self.strides) && !self.isContiguous();
  return {
    sizes,
    strides: channelsLast ? channelsLastStrides(sizes) : contiguousStrides(sizes),
    dtype: self.dtype,
    device: self.device,
  };
}

/** Pooling takes [N, C, …] or [C, …]. @throws shape-mismatch */
export function checkPoolRank(op: string, rank: number, self: Tensor): void {
  if (self.ndim === rank + 1 || self.ndim === rank + 2) return;
  throw new TesseraError(
    'shape-mismatch',
    `${op}: Expected ${rank + 1}D or ${rank + 2}D input, but got input of size ${formatSizes(self.sizes)}`,
    { hints: ['The input is [N, C, …] or [C, …].'] },
  );
}

/** Number of spatial planes: all dims but the last `rank`. */
export function planesOf(tensor: Tensor, rank: number): number {
  return numelOf(tensor.sizes.slice(0, -rank));
}

/** Gradient of a pooling's backward with respect to its input, whose values do not matter. */
export function zerosOf(self: Tensor): Tensor {
  return zeros(self.sizes, { dtype: self.dtype, device: self.device });
}
