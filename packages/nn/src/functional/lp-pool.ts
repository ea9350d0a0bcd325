/**
 * @file Power-average pooling: (Σ xᵖ)^{1/p} of each window.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { type Tensor, abs, mul, pow, relu, sign } from '@tessera/tensor';
import { avgPool1d, avgPool2d, avgPool3d } from '@tessera/tensor/internal';

/** Options of power-average pooling. */
export interface LpPoolOptions {
  /** Step of the window (default: its size). */
  readonly stride?: number | readonly number[] | null;
  /** Whether windows may hang over the end (default false). */
  readonly ceilMode?: boolean;
}
const LP_POOL: OptionNames<LpPoolOptions> = { stride: true, ceilMode: true };

const AVERAGES = [avgPool1d, avgPool2d, avgPool3d] as const;

function lpPool(
  input: Tensor,
  normType: number,
  kernelSize: number | readonly number[],
  options: LpPoolOptions,
  rank: 1 | 2 | 3,
): Tensor {
  const means = AVERAGES[rank - 1]!(pow(input, normType), kernelSize, {
    stride: options.stride ?? kernelSize,
    ceilMode: options.ceilMode ?? false,
  });
  const taps =
    typeof kernelSize === 'number'
      ? kernelSize ** rank
      : kernelSize.reduce((product, size) => product * size, 1);
  // Sums of odd powers below zero give no root.
  return pow(mul(mul(sign(means), relu(abs(means))), taps), 1 / normType);
}

/** (Σ xᵖ)^{1/p} of windows of [N, C, L]. @throws shape-mismatch @see torch.nn.functional.lp_pool1d */
export function lpPool1d(
  input: Tensor,
  normType: number,
  kernelSize: number | readonly number[],
  options: LpPoolOptions = {},
): Tensor {
  checkOptionNames('lpPool1d', options, LP_POOL);
  return lpPool(input, normType, kernelSize, options, 1);
}

/** (Σ xᵖ)^{1/p} of windows of [N, C, H, W]. @throws shape-mismatch @see torch.nn.functional.lp_pool2d */
export function lpPool2d(
  input: Tensor,
  normType: number,
  kernelSize: number | readonly number[],
  options: LpPoolOptions = {},
): Tensor {
  checkOptionNames('lpPool2d', options, LP_POOL);
  return lpPool(input, normType, kernelSize, options, 2);
}

/** (Σ xᵖ)^{1/p} of windows of [N, C, D, H, W]. @throws shape-mismatch @see torch.nn.functional.lp_pool3d */
export function lpPool3d(
  input: Tensor,
  normType: number,
  kernelSize: number | readonly number[],
  options: LpPoolOptions = {},
): Tensor {
  checkOptionNames('lpPool3d', options, LP_POOL);
  return lpPool(input, normType, kernelSize, options, 3);
}
