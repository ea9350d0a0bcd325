/**
 * @file Adaptive pooling with sizes that may be kept.
 */
import {
  type Tensor,
  adaptiveAvgPool1d as pool1d,
  adaptiveAvgPool2d as pool2d,
  adaptiveAvgPool3d as pool3d,
} from '@tessera/tensor';

/** Parts per spatial dimension: one number for all, or one each where null keeps a size. */
type AdaptiveSize = number | readonly (number | null)[];

/** Sizes without null. */
function sizesFor(input: Tensor, outputSize: AdaptiveSize, rank: number): readonly number[] {
  if (typeof outputSize === 'number') return Array<number>(rank).fill(outputSize);
  return outputSize.map((size, i) => size ?? input.sizes.at(i - rank) ?? 1);
}

/** Means of [N, C, L] cut into `outputSize` parts; null keeps a size. @throws shape-mismatch @see torch.nn.functional.adaptive_avg_pool1d */
export function adaptiveAvgPool1d(input: Tensor, outputSize: AdaptiveSize): Tensor {
  return pool1d(input, sizesFor(input, outputSize, 1));
}

/** Means of [N, C, H, W] cut into `outputSize` parts; null keeps a size. @throws shape-mismatch @see torch.nn.functional.adaptive_avg_pool2d */
export function adaptiveAvgPool2d(input: Tensor, outputSize: AdaptiveSize): Tensor {
  return pool2d(input, sizesFor(input, outputSize, 2));
}

/** Means of [N, C, D, H, W] cut into `outputSize` parts; null keeps a size. @throws shape-mismatch @see torch.nn.functional.adaptive_avg_pool3d */
export function adaptiveAvgPool3d(input: Tensor, outputSize: AdaptiveSize): Tensor {
  return pool3d(input, sizesFor(input, outputSize, 3));
}
