/**
 * @file Which tokens of a draft a model accepts, by Leviathan et al., "Fast Inference from Transformers via Speculative
 * Decoding" (2023): a proposal is accepted with probability min(1, p/q), and the first that is not is replaced by a draw
 * from what p has more than q. So texts are distributed as if the model alone had made them.
 */
import { type Tensor, cat } from '@tessera/tensor';

/**
 * How many of the first proposals are accepted, [1], and the token behind them, [1], both int64.
 *
 * @param target probabilities of the model before each proposal and behind the last, [K + 1, vocabSize]
 * @param draft probabilities that the proposals were drawn with, [K, vocabSize]
 * @param proposed the proposals, [K] of int64
 * @param chance numbers drawn from [0, 1), [K]
 */
export function acceptProposals(
  target: Tensor,
  draft: Tensor,
  proposed: Tensor,
  chance: Tensor,
): { accepted: Tensor; next: Tensor } {
  const count = draft.size(0);
  const at = proposed.unsqueeze(1);
  const wanted = target.narrow(0, 0, count).gather(1, at).squeeze(1);
  const offered = draft.gather(1, at).squeeze(1);
  const accepted = chance.mul(offered).lt(wanted).to('int64').cumprod(0).sum(0, { keepdim: true });
  const more = cat([target.narrow(0, 0, count).sub(draft).clampMin(0), target.narrow(0, count, 1)]);
  const next = more.indexSelect(0, accepted).multinomial(1).squeeze(1);
  return { accepted, next };
}
