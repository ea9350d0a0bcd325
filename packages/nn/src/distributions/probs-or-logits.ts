/**
 * @file Parameters that are given as probabilities or as their logits.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, clamp, log, log1p, sigmoid } from '@tessera/tensor';
import { type WithOptions, checkOptions } from '../module/check-options.js';
import { type DistributionOptions, type ParameterLike, broadcastAll } from './distribution.js';

/** Exactly one of both. */
export interface ProbsOrLogits<T = ParameterLike> extends DistributionOptions {
  readonly probs?: T;
  readonly logits?: T;
}

/** Names of these options. */
export const PROBS_OR_LOGITS: Readonly<Record<keyof ProbsOrLogits, true>> = {
  probs: true,
  logits: true,
  validateArgs: true,
};

/** Which was given, and as a tensor; `others` broadcast with it. @throws invalid-argument unless exactly one was given */
export function probsOrLogits(
  type: WithOptions,
  options: ProbsOrLogits,
  ...others: readonly ParameterLike[]
): { readonly given: 'probs' | 'logits'; readonly value: Tensor; readonly others: Tensor[] } {
  checkOptions(type, options);
  const { name } = type;
  const { probs, logits } = options ?? {};
  if ((probs === undefined) === (logits === undefined))
    throw new TesseraError(
      'invalid-argument',
      `${name}: Either \`probs\` or \`logits\` must be specified, but not both.`,
      { hints: [`new ${name}({ probs })`] },
    );
  const [value, ...rest] = broadcastAll((probs ?? logits)!, ...others);
  return { given: probs === undefined ? 'logits' : 'probs', value, others: rest };
}

const EPSILON: Readonly<Record<string, number>> = {
  float64: 2 ** -52,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

/** Away from 0 and 1, where logarithms are infinite. */
export function clampProbs(probs: Tensor): Tensor {
  const epsilon = EPSILON[probs.dtype] ?? 2 ** -23;
  return clamp(probs, epsilon, 1 - epsilon);
}

/** log p - log(1 - p) */
export function logitsOf(probs: Tensor): Tensor {
  const safe = clampProbs(probs);
  return log(safe).sub(log1p(safe.neg()));
}

/** 1 / (1 + exp(-logits)) */
export function probsOf(logits: Tensor): Tensor {
  return sigmoid(logits);
}
