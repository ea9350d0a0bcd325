/**
 * @file Adaptive pooling with sizes that may be kept.
 */
import { type Tensor, adaptiveAvgPool2d as pool } from '@tessera/tensor';

/** Means of [N, C, H, W] cut into a grid of `outputSize` parts; null keeps a size. @throws shape-mismatch @see torch.nn.functional.adaptive_avg_pool2d */
export function adaptiveAvgPool2d(
  input: Tensor,
  outputSize: number | readonly [number | null, number | null],
): Tensor {
  if (typeof outputSize === 'number') return pool(input, outputSize);
  return pool(
    input,
    outputSize.map((size, i) => size ?? input.sizes.at(i - 2) ?? 1),
  );
}
