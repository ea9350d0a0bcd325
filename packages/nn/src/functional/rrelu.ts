/**
 * @file The leaky ReLU of a random slope.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, emptyLike, gt, leakyRelu, noGrad, where } from '@tessera/tensor';
import { leakyRelu_, uniform_ } from '@tessera/tensor/internal';

/** Options of `rrelu`. */
export interface RReLUOptions {
  /** Least slope (default 1/8). */
  readonly lower?: number;
  /** Largest slope (default 1/3). */
  readonly upper?: number;
  /** Whether slopes are random (default false). */
  readonly training?: boolean;
  /** Whether the input is overwritten (default false). */
  readonly inplace?: boolean;
}
const RRELU: OptionNames<RReLUOptions> = {
  lower: true,
  upper: true,
  training: true,
  inplace: true,
};

/** x, or a slope below zero: random per element when training, else the middle. @throws invalid-argument @see torch.nn.functional.rrelu */
export function rrelu(input: Tensor, options: RReLUOptions = {}): Tensor {
  checkOptionNames('rrelu', options, RRELU);
  const { lower = 1 / 8, upper = 1 / 3, training = false, inplace = false } = options;
  if (lower > upper)
    throw new TesseraError(
      'invalid-argument',
      `rrelu: Lower bound should be less than or equal to the upper bound, but got ${lower} and ${upper}`,
      { hints: ['The slopes lie between lower and upper.'] },
    );
  if (!training) {
    const negativeSlope = (lower + upper) / 2;
    return inplace ? leakyRelu_(input, { negativeSlope }) : leakyRelu(input, { negativeSlope });
  }
  const slopes = noGrad(() => uniform_(emptyLike(input), lower, upper));
  const result = where(gt(input, 0), input, input.mul(slopes));
  return inplace ? input.copy_(result) : result;
}
