/**
 * @file Memory formats: which layout a copy gets.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import type { TensorMeta } from './op/op-record.js';
import type { Tensor } from './tensor.js';
import { contiguousStrides, isContiguous } from './shape.js';
import {
  channelsLastStrides,
  isChannelsLast,
  preservedStrides,
} from './kernels/pointwise-strides.js';

/** `preserve` keeps a dense layout's order of dimensions; `channelsLast` is NHWC order of a 4-d tensor. */
export type MemoryFormat = 'contiguous' | 'preserve' | 'channelsLast' | 'channelsLast3d';

/** Strides of a copy of `self` in a format (null: preserve). @throws invalid-dim where the format is of another rank */
export function formatStrides(
  self: Pick<Tensor, 'sizes' | 'strides'>,
  format: MemoryFormat | null,
): number[] {
  if (format === null || format === 'preserve') return preservedStrides(self.sizes, self.strides);
  if (format === 'contiguous') return contiguousStrides(self.sizes);
  const rank = format === 'channelsLast' ? 4 : 5;
  if (self.sizes.length === rank) return channelsLastStrides(self.sizes);
  throw new TesseraError('invalid-dim', `required rank ${rank} tensor to use ${format} format`, {
    hints: ['channelsLast is for [N, C, H, W].'],
  });
}

export const MEMORY_FORMAT: OptionNames<{ memoryFormat?: MemoryFormat }> = { memoryFormat: true };

/** Whether the elements of `self` lie in the order of a format without gaps. @throws invalid-argument */
export function isLaidOutAs(
  { sizes, strides }: Tensor,
  options: { memoryFormat?: MemoryFormat },
): boolean {
  checkOptionNames('isContiguous', options, MEMORY_FORMAT);
  const { memoryFormat } = options;
  return memoryFormat?.startsWith('ch')
    ? isChannelsLast(sizes, strides, memoryFormat === 'channelsLast' ? 4 : 5)
    : isContiguous(sizes, strides);
}

/** Result of the shape, dtype and order of dimensions of `self`. */
export function metaOfSelf({ self }: { readonly self: Tensor }): TensorMeta {
  const { sizes, dtype, device } = self;
  return { sizes, strides: formatStrides(self, null), dtype, device };
}
