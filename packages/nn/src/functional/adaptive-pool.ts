/**
 * @file Adaptive pooling with sizes that may be kept.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import {
  adaptiveAvgPool1d as pool1d,
  adaptiveAvgPool2d as pool2d,
  adaptiveAvgPool3d as pool3d,
  adaptiveMaxPool1d as max1d,
  adaptiveMaxPool2d as max2d,
  adaptiveMaxPool3d as max3d,
} from '@tessera/tensor/internal';

/** Parts per spatial dimension: one number for all, or one each where null keeps a size. */
type AdaptiveSize = number | readonly (number | null)[];

/** Sizes without null. */
function sizesFor(input: Tensor, outputSize: AdaptiveSize, rank: number): readonly number[] {
  if (typeof outputSize === 'number') return Array<number>(rank).fill(outputSize);
  if (!isTensor(input) || !Array.isArray(outputSize))
    throw new TesseraError('invalid-argument', 'Adaptive pooling takes a tensor and a size.', {
      hints: ['Write adaptiveAvgPool2d(x, 1) or adaptiveAvgPool2d(x, [4, null]).'],
    });
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

/** Largest elements of [N, C, L] cut into `outputSize` parts, and where they were. @throws shape-mismatch @see torch.nn.functional.adaptive_max_pool1d */
export function adaptiveMaxPool1dWithIndices(
  input: Tensor,
  outputSize: AdaptiveSize,
): [values: Tensor, indices: Tensor] {
  return max1d(input, sizesFor(input, outputSize, 1));
}

/** Largest elements of [N, C, L] cut into `outputSize` parts; null keeps a size. @throws shape-mismatch @see torch.nn.functional.adaptive_max_pool1d */
export function adaptiveMaxPool1d(input: Tensor, outputSize: AdaptiveSize): Tensor {
  return adaptiveMaxPool1dWithIndices(input, outputSize)[0];
}

/** Largest elements of [N, C, H, W] cut into `outputSize` parts, and where they were. @throws shape-mismatch @see torch.nn.functional.adaptive_max_pool2d */
export function adaptiveMaxPool2dWithIndices(
  input: Tensor,
  outputSize: AdaptiveSize,
): [values: Tensor, indices: Tensor] {
  return max2d(input, sizesFor(input, outputSize, 2));
}

/** Largest elements of [N, C, H, W] cut into `outputSize` parts; null keeps a size. @throws shape-mismatch @see torch.nn.functional.adaptive_max_pool2d */
export function adaptiveMaxPool2d(input: Tensor, outputSize: AdaptiveSize): Tensor {
  return adaptiveMaxPool2dWithIndices(input, outputSize)[0];
}

/** Largest elements of [N, C, D, H, W] cut into `outputSize` parts, and where they were. @throws shape-mismatch @see torch.nn.functional.adaptive_max_pool3d */
export function adaptiveMaxPool3dWithIndices(
  input: Tensor,
  outputSize: AdaptiveSize,
): [values: Tensor, indices: Tensor] {
  return max3d(input, sizesFor(input, outputSize, 3));
}

/** Largest elements of [N, C, D, H, W] cut into `outputSize` parts; null keeps a size. @throws shape-mismatch @see torch.nn.functional.adaptive_max_pool3d */
export function adaptiveMaxPool3d(input: Tensor, outputSize: AdaptiveSize): Tensor {
  return adaptiveMaxPool3dWithIndices(input, outputSize)[0];
}
