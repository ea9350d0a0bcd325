/**
 * @file Memory formats: which layout a copy gets.
 */
import type { Tensor } from './tensor.js';
import { contiguousStrides } from './shape.js';
import { pointwiseStrides } from './kernels/pointwise-kernel.js';

/** `preserve` keeps a dense layout's order of dimensions; `channelsLast` is NHWC order of a 4-d tensor. */
export type MemoryFormat = 'contiguous' | 'preserve' | 'channelsLast' | 'channelsLast3d';

/** Strides of a copy of `self` in a format (null: preserve). */
export function formatStrides(self: Tensor, format: MemoryFormat | null): number[] {
  if (format === null || format === 'preserve') return pointwiseStrides(self.sizes, [self]);
  if (format === 'contiguous') return contiguousStrides(self.sizes);
  const spatial = self.sizes.slice(2);
  const order = [0, ...spatial.map((_, i) => i + 2), 1];
  const packed = contiguousStrides(order.map((d) => self.sizes[d]!));
  const out = new Array<number>(self.ndim);
  order.forEach((d, i) => (out[d] = packed[i]!));
  return out;
}
