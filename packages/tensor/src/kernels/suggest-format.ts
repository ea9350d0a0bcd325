/**
 * @file The memory format that a tensor's strides suggest, which image operators keep for their results.
 *
 * @see c10::TensorImpl::is_channels_last_strides
 */
import type { DType } from '../dtype.js';
import type { TensorMeta } from '../op/op-record.js';
import { contiguousStrides } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { channelsLastStrides } from './pointwise-strides.js';

/** Whether the strides of a [N, C, H, W] or [N, C, D, H, W] tensor order its channels innermost. */
export function suggestsChannelsLast({ sizes, strides }: Tensor): boolean {
  if (sizes.length !== 4 && sizes.length !== 5) return false;
  const spatial = sizes.map((_, i) => i).slice(2);
  let least = 0;
  if (strides[1] === 0) return false;
  for (const dim of [1, ...spatial.reverse(), 0]) {
    if (sizes[dim] === 0 || strides[dim]! < least) return false;
    // Where one channel and one batch make both orders the same, row-major wins.
    if (dim === 0 && least === strides[1]) return false;
    least = strides[dim]! * Math.max(sizes[dim]!, 1);
  }
  return true;
}

/** Meta of a row-major result made from `self`. */
export function denseMeta(
  self: Tensor,
  sizes: readonly number[],
  dtype: DType = self.dtype,
): TensorMeta {
  return { sizes, strides: contiguousStrides(sizes), dtype, device: self.device };
}

/** Meta of an image made from `self`: of another size, in the format that `self` suggests. */
export function imageMeta(self: Tensor, sizes: readonly number[]): TensorMeta {
  return {
    sizes,
    strides: suggestsChannelsLast(self) ? channelsLastStrides(sizes) : contiguousStrides(sizes),
    dtype: self.dtype,
    device: self.device,
  };
}
