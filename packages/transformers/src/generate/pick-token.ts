/**
 * @file From the logits of the next token to a token.
 *
 * The filters are those of `transformers`' logits processors, in its order: repetition, temperature, top-k, top-p, min-p,
 * typical.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, where, zerosLike } from '@tessera/tensor';
import type { SamplingOptions } from './options.js';

const NEVER = -Infinity;

/** Keeps the logits for which `keep` is true. */
function only(logits: Tensor, keep: Tensor): Tensor {
  return where(keep, logits, NEVER);
}

/** Tokens that together have the share `topP`, the likeliest always. */
function nucleus(logits: Tensor, topP: number): Tensor {
  const [values, indices] = logits.topk(logits.size(-1));
  const probabilities = F.softmax(values, -1);
  // What is before a token, without itself: the one that passes the limit stays.
  const before = probabilities.cumsum(-1).sub(probabilities);
  // Nothing is before the likeliest: it stays for a share of 0, too.
  const keep = before.lt(topP).logicalOr(before.eq(0));
  return logits.mul(0).scatter(-1, indices, only(values, keep));
}

/** A token at least this likely has at most `log(minP)` less than the best logit. */
function likelyEnough(logits: Tensor, minP: number): Tensor {
  const [best] = logits.topk(1);
  return only(logits, logits.ge(best.add(Math.log(minP))));
}

/**
 * Tokens that say about as much as is expected of one: those nearest to it (the entropy) that together have the share
 * `typicalP`, and the one that passes it.
 *
 * @see Meister et al., Locally Typical Sampling, https://arxiv.org/abs/2202.00666
 */
function typical(logits: Tensor, typicalP: number): Tensor {
  const logarithms = F.logSoftmax(logits, -1);
  const probabilities = logarithms.exp();
  const entropy = probabilities.mul(logarithms).nansum(-1, { keepdim: true }).neg();
  const distances = logarithms.add(entropy).abs();
  const count = logits.size(-1);
  const [nearest, indices] = distances.topk(count, { largest: false });
  const shares = probabilities.gather(-1, indices).cumsum(-1);
  const passing = shares
    .lt(typicalP)
    .sum(-1, { keepdim: true })
    .clampMax(count - 1);
  return only(logits, distances.le(nearest.gather(-1, passing)));
}

/**
 * Probabilities of the next token, [B, vocabSize]; one of the likeliest without a temperature.
 *
 * @param logits [B, vocabSize]
 * @param seen [B, vocabSize] of bool: tokens that were there before; needed for `repetitionPenalty`
 */
export function tokenProbabilities(
  logits: Tensor,
  options: SamplingOptions,
  seen: Tensor | null,
): Tensor {
  const { temperature = 0 } = options;
  const scores = penalized(logits, options, seen);
  if (temperature === 0)
    return zerosLike(scores).scatter(-1, scores.argmax(-1, { keepdim: true }), 1);
  return F.softmax(filtered(scores, options), -1);
}

/**
 * [B] token numbers.
 *
 * @param logits [B, vocabSize]
 * @param seen [B, vocabSize] of bool: tokens that were there before; needed for `repetitionPenalty`
 */
export function pickToken(logits: Tensor, options: SamplingOptions, seen: Tensor | null): Tensor {
  const scores = penalized(logits, options, seen);
  if ((options.temperature ?? 0) === 0) return scores.argmax(-1);
  return F.softmax(filtered(scores, options), -1).multinomial(1).squeeze(-1);
}

/** Logits in float32, less for tokens that were there before. */
function penalized(
  logits: Tensor,
  { repetitionPenalty = 1 }: SamplingOptions,
  seen: Tensor | null,
): Tensor {
  const scores = logits.to('float32');
  if (repetitionPenalty === 1 || seen === null) return scores;
  const less = where(scores.lt(0), scores.mul(repetitionPenalty), scores.div(repetitionPenalty));
  return where(seen, less, scores);
}

/** Logits by the temperature, of the tokens that may be drawn. */
function filtered(logits: Tensor, options: SamplingOptions): Tensor {
  const { temperature = 1, topK, topP, minP, typicalP } = options;
  let scores = temperature === 1 ? logits : logits.div(temperature);
  if (topK !== undefined && topK < scores.size(-1)) {
    const [values] = scores.topk(topK);
    scores = only(scores, scores.ge(values.narrow(-1, topK - 1, 1)));
  }
  if (topP !== undefined && topP < 1) scores = nucleus(scores, topP);
  if (minP !== undefined && minP > 0) scores = likelyEnough(scores, minP);
  if (typicalP !== undefined && typicalP < 1) scores = typical(scores, typicalP);
  return scores;
}
