/**
 * @file Scaled dot-product attention, in plain operators.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  all,
  dropout,
  eq,
  logicalNot,
  maskedFill,
  matmul,
  mul,
  ones,
  softmax,
  transpose,
  tril,
} from '@tessera/tensor';

/** Options of `scaledDotProductAttention`. */
export interface AttentionOptions {
  /** bool: true takes part; otherwise added to the scores. Broadcasts to [N, …, L, S]. */
  readonly attnMask?: Tensor | null;
  /** Share of the weights that is dropped (default 0). */
  readonly dropoutP?: number;
  /** Whether position i sees only positions up to i (default false). */
  readonly isCausal?: boolean;
  /** Factor of the scores (default 1/√E). */
  readonly scale?: number | null;
}

/**
 * softmax(query keyᵀ · scale + mask) value: [N, …, L, E], [N, …, S, E], [N, …, S, Ev] → [N, …, L, Ev].
 * Positions that see nothing give zeros.
 *
 * @throws shape-mismatch, invalid-argument for a mask together with isCausal
 * @see torch.nn.functional.scaled_dot_product_attention
 */
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions = {},
): Tensor {
  const { attnMask = null, dropoutP = 0, isCausal = false, scale = null } = options;
  if (isCausal && attnMask !== null)
    throw new TesseraError(
      'invalid-argument',
      'scaledDotProductAttention: explicit attnMask should not be set when isCausal is true',
      { hints: ['Combine the causal mask into attnMask.'] },
    );
  // Both factors are scaled by the root, which keeps the product small in half precision.
  const root = Math.sqrt(scale ?? 1 / Math.sqrt(query.sizes.at(-1)!));
  let scores = matmul(mul(query, root), mul(transpose(key, -2, -1), root));
  if (isCausal) scores = maskedFill(scores, logicalNot(causalMask(query, key)), -Infinity);
  else if (attnMask !== null)
    scores =
      attnMask.dtype === 'bool'
        ? maskedFill(scores, logicalNot(attnMask), -Infinity)
        : scores.add(attnMask);
  let weights = softmax(scores, -1);
  if (attnMask !== null) weights = maskedFill(weights, all(eq(scores, -Infinity), -1, true), 0);
  if (dropoutP > 0) weights = dropout(weights, dropoutP, true);
  return matmul(weights, value);
}

function causalMask(query: Tensor, key: Tensor): Tensor {
  return tril(
    ones([query.sizes.at(-2)!, key.sizes.at(-2)!], { dtype: 'bool', device: query.device }),
  );
}
