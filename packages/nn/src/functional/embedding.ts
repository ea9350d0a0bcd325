/**
 * @file Embedding lookups.
 */
import { type Tensor, embedding as lookUp } from '@tessera/tensor';

/** Options of `embedding`. */
export interface EmbeddingLookupOptions {
  /** Row that receives no gradient. */
  readonly paddingIdx?: number;
  /** Whether gradients are divided by how often a row was used. */
  readonly scaleGradByFreq?: boolean;
}

/** Rows of `weight` [V, D] by index, […] → […, D]; the index comes first, as in PyTorch. @throws index-out-of-range @see torch.nn.functional.embedding */
export function embedding(
  input: Tensor,
  weight: Tensor,
  options: EmbeddingLookupOptions = {},
): Tensor {
  return lookUp(weight, input, options);
}
