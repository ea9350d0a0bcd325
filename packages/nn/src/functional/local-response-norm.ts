/**
 * @file Channels divided by what their neighbours are.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, reshape } from '@tessera/tensor';
import { avgPool3d, constantPad, checkTensors } from '@tessera/tensor/internal';

/** Options of `localResponseNorm`. */
export interface LocalResponseNormOptions {
  /** Default 1e-4. */
  readonly alpha?: number;
  /** Default 0.75. */
  readonly beta?: number;
  /** Default 1. */
  readonly k?: number;
}

/** Names of its options. */
export const LOCAL_RESPONSE_NORM: OptionNames<LocalResponseNormOptions> = {
  alpha: true,
  beta: true,
  k: true,
};

/** input / (k + α · mean of squares of `size` neighbouring channels)^β, [N, C, …]. @throws shape-mismatch, invalid-argument @see torch.nn.functional.local_response_norm */
export function localResponseNorm(
  input: Tensor,
  size: number,
  options: LocalResponseNormOptions = {},
): Tensor {
  checkOptionNames('localResponseNorm', options, LOCAL_RESPONSE_NORM);
  checkTensors('localResponseNorm', { input });
  const { alpha = 1e-4, beta = 0.75, k = 1 } = options;
  if (input.ndim < 3)
    throw new TesseraError(
      'shape-mismatch',
      `localResponseNorm: Expected 3D or higher dimensionality input (got ${input.ndim} dimensions)`,
      { hints: ['The input is [N, C, …], with at least one dimension after the channels.'] },
    );
  if (input.numel === 0) return input;
  const [n, channels] = input.sizes;
  // Channels are the depth of a volume of one channel.
  const squares = reshape(input.mul(input), [n, 1, channels, -1, 1]);
  const around = [0, 0, 0, 0, Math.floor(size / 2), Math.floor((size - 1) / 2)];
  const padded = constantPad(squares, around, 0);
  const means = reshape(avgPool3d(padded, [size, 1, 1], { stride: 1 }), input.sizes);
  return input.div(means.mul(alpha).add(k).pow(beta));
}
