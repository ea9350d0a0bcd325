/**
 * @file The loss of language models.
 */
import { functional as F } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';

/** Cross entropy of each position's logits [N, T, V] with the token that follows, ids [N, T]. */
export function nextTokenLoss(logits: Tensor, ids: Tensor): Tensor {
  const [n, t, vocabulary] = logits.sizes;
  return F.crossEntropy(
    logits.narrow(1, 0, t - 1).reshape([n * (t - 1), vocabulary]),
    ids.narrow(1, 1, t - 1).reshape([n * (t - 1)]),
  );
}
