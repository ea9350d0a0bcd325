/**
 * @file The memory format that a tensor's strides suggest, which image operators keep for their results.
 *
 * @see c10::TensorImpl::is_channels_last_strides
 */
import type { DType } from '../dtype.js';
import type { TensorMeta } from '../op/op-record.js';
import { contiguousStrides } from '../shape.js';
import type { Tensor } from '../tensor.js';
import type { TensorBase } from '../tensor-base.js';
import { channelsLastOrder, channelsLastStrides } from './pointwise-strides.js';

/** Whether the strides of a [N, C, H, W] or [N, C, D, H, W] tensor order its channels innermost. */
export function suggestsChannelsLast({ sizes, strides }: Tensor): boolean {
  if ((sizes.length !== 4 && sizes.length !== 5) || strides[1] === 0) return false;
  let least = 0;
  return channelsLastOrder(sizes.length).every((dim) => {
    // Where one channel and one batch make both orders the same, row-major wins.
    const isOrdered =
      sizes[dim] !== 0 && strides[dim]! >= least && (dim > 0 || least !== strides[1]);
    least = strides[dim]! * sizes[dim]!;
    return isOrdered;
  });
}

/** Meta of a row-major result made from `self`: its sizes and its dtype unless others are given. */
export function denseMeta(
  self: TensorBase,
  sizes: readonly number[] = self.sizes,
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
