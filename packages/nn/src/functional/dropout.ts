/**
 * @file The dropout family: random elements, or whole channels, set to zero in training.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, dropout as drop, empty, emptyLike, noGrad, unsqueeze } from '@tessera/tensor';
import {
  bernoulli_,
  dropout_ as drop_,
  formatSizes,
  mul_,
  checkTensors,
} from '@tessera/tensor/internal';

/** Options of every dropout. */
export interface DropoutOptions {
  /** Share that is dropped (default 0.5). */
  readonly p?: number;
  /** Whether anything is dropped (default true). */
  readonly training?: boolean;
  /** Whether the input is overwritten (default false). */
  readonly inplace?: boolean;
}
const DROPOUT: OptionNames<DropoutOptions> = { p: true, training: true, inplace: true };

/** @throws invalid-argument */
function checkProbability(p: number): void {
  if (p >= 0 && p <= 1) return;
  throw new TesseraError(
    'invalid-argument',
    `dropout probability has to be between 0 and 1, but got ${p}`,
    { hints: ['p is the share of elements set to zero.'] },
  );
}

/** Zeroes elements with probability p and scales the rest, when training. @throws invalid-argument @see torch.nn.functional.dropout */
export function dropout(input: Tensor, options: DropoutOptions = {}): Tensor {
  checkOptionNames('dropout', options, DROPOUT);
  const { p = 0.5, training = true, inplace = false } = options;
  return inplace ? drop_(input, { p, training }) : drop(input, { p, training });
}

/** 1 with probability 1 - p, else 0, for each sample and channel of [N, C, …]. */
function channelMask(input: Tensor, p: number): Tensor {
  const sizes = input.sizes.map((size, i) => (i < 2 ? size : 1));
  const { dtype, device } = input;
  return noGrad(() => bernoulli_(empty(sizes, { dtype, device }), 1 - p));
}

/** Zeroes whole channels of [N, C, …] with probability p and scales the rest, when training. @throws invalid-argument, shape-mismatch @see torch.feature_dropout */
export function featureDropout(input: Tensor, options: DropoutOptions = {}): Tensor {
  checkOptionNames('featureDropout', options, DROPOUT);
  checkTensors('featureDropout', { input });
  const { p = 0.5, training = true, inplace = false } = options;
  checkProbability(p);
  if (input.ndim < 2)
    throw new TesseraError(
      'shape-mismatch',
      `Feature dropout requires at least 2 dimensions in the input, not ${formatSizes(input.sizes)}`,
      { hints: ['The input is [N, C, …].'] },
    );
  if (!training || p === 0) return input;
  const mask = channelMask(input, p);
  const scaled = p === 1 ? mask : mask.div(1 - p);
  return inplace ? mul_(input, scaled) : input.mul(scaled);
}

/** A channel dropout over samples of one rank; a smaller input has no batch dimension. */
function channelDropout(input: Tensor, options: DropoutOptions, rank: number): Tensor {
  if (input.ndim >= rank) return featureDropout(input, options);
  const { inplace = false } = options;
  const result = featureDropout(unsqueeze(input, 0), options);
  return inplace ? input : result.squeeze(0);
}

/** Zeroes whole channels of [N, C, L] or [C, L]. @throws invalid-argument @see torch.nn.functional.dropout1d */
export function dropout1d(input: Tensor, options: DropoutOptions = {}): Tensor {
  checkOptionNames('dropout1d', options, DROPOUT);
  checkTensors('dropout1d', { input });
  return channelDropout(input, options, 3);
}

/** Zeroes whole channels of [N, C, H, W]; [N, C, L] is taken as that, as PyTorch does. @throws invalid-argument @see torch.nn.functional.dropout2d */
export function dropout2d(input: Tensor, options: DropoutOptions = {}): Tensor {
  checkOptionNames('dropout2d', options, DROPOUT);
  return featureDropout(input, options);
}

/** Zeroes whole channels of [N, C, D, H, W] or [C, D, H, W]. @throws invalid-argument @see torch.nn.functional.dropout3d */
export function dropout3d(input: Tensor, options: DropoutOptions = {}): Tensor {
  checkOptionNames('dropout3d', options, DROPOUT);
  checkTensors('dropout3d', { input });
  return channelDropout(input, options, 5);
}

/** What SELU tends to far below zero: the value of dropped elements. */
const ALPHA = -1.7580993408473766;

function keepMoments(input: Tensor, mask: Tensor, p: number, inplace: boolean): Tensor {
  // Kept elements and dropped ones together keep mean 0 and variance 1.
  const a = 1 / Math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p));
  const added = mask
    .neg()
    .add(1)
    .mul(ALPHA * a)
    .add(ALPHA * a * -p);
  const factor = mask.mul(a);
  return inplace ? mul_(input, factor).add_(added) : input.mul(factor).add(added);
}

/** Dropout that keeps mean 0 and variance 1, when training. @throws invalid-argument @see torch.nn.functional.alpha_dropout */
export function alphaDropout(input: Tensor, options: DropoutOptions = {}): Tensor {
  checkOptionNames('alphaDropout', options, DROPOUT);
  const { p = 0.5, training = true, inplace = false } = options;
  checkProbability(p);
  if (!training || p === 0) return input;
  if (p === 1) return inplace ? mul_(input, 0) : input.mul(0);
  return keepMoments(
    input,
    noGrad(() => bernoulli_(emptyLike(input), 1 - p)),
    p,
    inplace,
  );
}

/** The same for whole channels of [N, C, …]. @throws invalid-argument @see torch.nn.functional.feature_alpha_dropout */
export function featureAlphaDropout(input: Tensor, options: DropoutOptions = {}): Tensor {
  checkOptionNames('featureAlphaDropout', options, DROPOUT);
  checkTensors('featureAlphaDropout', { input });
  const { p = 0.5, training = true, inplace = false } = options;
  checkProbability(p);
  if (!training || p === 0) return input;
  if (p === 1) return inplace ? mul_(input, 0) : input.mul(0);
  return keepMoments(input, channelMask(input, p), p, inplace);
}
