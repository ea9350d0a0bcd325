/**
 * @file Samples from the Gumbel-softmax distribution: categorical samples that gradients flow through.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type Tensor,
  argmax,
  clampMin,
  log,
  log1p,
  neg,
  randLike,
  softmax,
  zerosLike,
} from '@tessera/tensor';

/** Options of `gumbelSoftmax`. */
export interface GumbelSoftmaxOptions {
  /** Temperature: towards 0, samples become one-hot (default 1). */
  readonly tau?: number;
  /** Whether samples are one-hot; gradients are those of the soft sample (default false). */
  readonly hard?: boolean;
  /** Dimension of the categories (default -1). */
  readonly dim?: number;
}
const GUMBEL_SOFTMAX: OptionNames<GumbelSoftmaxOptions> = { tau: true, hard: true, dim: true };

/** Smallest positive number that 16-bit floats hold as well. */
const TINY = 2 ** -24;

/** Soft or one-hot samples, of the shape of `logits`. @throws invalid-argument, invalid-dim @see torch.nn.functional.gumbel_softmax @see https://arxiv.org/abs/1611.01144 */
export function gumbelSoftmax(logits: Tensor, options: GumbelSoftmaxOptions = {}): Tensor {
  checkOptionNames('gumbelSoftmax', options, GUMBEL_SOFTMAX);
  const { tau = 1, hard = false, dim = -1 } = options;
  if (!(tau > 0))
    throw new TesseraError('invalid-argument', `gumbelSoftmax: tau must be positive, not ${tau}.`, {
      hints: ['Use hard: true for one-hot samples.'],
    });
  const exponential = clampMin(neg(log1p(neg(randLike(logits)))), TINY);
  const soft = softmax(logits.sub(log(exponential)).div(tau), dim);
  if (!hard) return soft;
  const winner = argmax(soft, dim, { keepdim: true });
  const oneHot = zerosLike(soft).scatter(dim, winner, 1);
  return oneHot.sub(soft.detach()).add(soft);
}
