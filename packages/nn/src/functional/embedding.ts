/**
 * @file Embedding lookups, one by one and in bags.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type Tensor,
  arange,
  embedding as lookUp,
  isTensor,
  noGrad,
  reshape,
} from '@tessera/tensor';
import { checkChoice } from '../module/check-options.js';
import {
  embeddingRenorm_,
  embeddingBag as lookUpBags,
  checkTensors,
} from '@tessera/tensor/internal';

/** Options that both have. */
interface LookupOptions {
  /** Row that receives no gradient; negative counts from the end. */
  readonly paddingIdx?: number | null;
  /** Whether gradients are divided by how often a row was used. */
  readonly scaleGradByFreq?: boolean;
  /** Rows that are used are scaled down to this norm, in place. */
  readonly maxNorm?: number | null;
  /** Order of that norm (default 2). */
  readonly normType?: number;
}

/** Options of `embedding`. */
export type EmbeddingLookupOptions = LookupOptions;
const EMBEDDING_LOOKUP: OptionNames<EmbeddingLookupOptions> = {
  paddingIdx: true,
  scaleGradByFreq: true,
  maxNorm: true,
  normType: true,
};

function rowOf(paddingIdx: number | null | undefined, weight: Tensor): number | null {
  if (paddingIdx == null) return null;
  return paddingIdx < 0 ? paddingIdx + weight.sizes[0]! : paddingIdx;
}

function limitNorms(weight: Tensor, input: Tensor, options: LookupOptions): void {
  const { maxNorm = null, normType = 2 } = options;
  if (maxNorm !== null)
    noGrad(() => embeddingRenorm_(weight.detach(), input.contiguous(), maxNorm, normType));
}

/** Rows of `weight` [V, D] by index, […] → […, D]; the index comes first, as in PyTorch. @throws index-out-of-range @see torch.nn.functional.embedding */
export function embedding(
  input: Tensor,
  weight: Tensor,
  options: EmbeddingLookupOptions = {},
): Tensor {
  checkOptionNames('embedding', options, EMBEDDING_LOOKUP);
  limitNorms(weight, input, options);
  const row = rowOf(options.paddingIdx, weight);
  return lookUp(weight, input, {
    ...(row === null ? {} : { paddingIdx: row }),
    scaleGradByFreq: options.scaleGradByFreq ?? false,
  });
}

/** Options of `embeddingBag`. */
export interface EmbeddingBagLookupOptions extends LookupOptions {
  /** Where each bag begins, [B], if the input is one row of indices. */
  readonly offsets?: Tensor | null;
  /** How rows of a bag are combined (default `mean`). */
  readonly mode?: 'sum' | 'mean' | 'max';
  /** One weight per index; only with mode `sum`. */
  readonly perSampleWeights?: Tensor | null;
  /** Whether the last offset is the end of the last bag. */
  readonly includeLastOffset?: boolean;
}
const EMBEDDING_BAG_LOOKUP: OptionNames<EmbeddingBagLookupOptions> = {
  offsets: true,
  mode: true,
  perSampleWeights: true,
  includeLastOffset: true,
  paddingIdx: true,
  scaleGradByFreq: true,
  maxNorm: true,
  normType: true,
};

/**
 * Rows of `weight` [V, D] combined per bag: indices [B, N], or [N] with offsets [B] → [B, D].
 *
 * @throws shape-mismatch, invalid-argument, index-out-of-range
 * @see torch.nn.functional.embedding_bag
 */
export function embeddingBag(
  input: Tensor,
  weight: Tensor,
  options: EmbeddingBagLookupOptions = {},
): Tensor {
  checkOptionNames('embeddingBag', options, EMBEDDING_BAG_LOOKUP);
  checkTensors('embeddingBag', { input, weight });
  const { perSampleWeights = null, mode = 'mean' } = options;
  checkChoice('embeddingBag', 'mode', mode, ['sum', 'mean', 'max']);
  const refuse = (message: string, hint: string): never => {
    throw new TesseraError('invalid-argument', message, { hints: [hint] });
  };
  if (perSampleWeights !== null && !isTensor(perSampleWeights))
    refuse('embeddingBag: perSampleWeights is no tensor', 'Pass one weight per index.');
  if (perSampleWeights !== null && mode !== 'sum')
    refuse(
      `embeddingBag: perSampleWeights was not null, but it is only supported for mode 'sum' (got mode='${mode}')`,
      "Use mode 'sum'.",
    );
  let [indices, weights, offsets] = [input, perSampleWeights, options.offsets ?? null];
  if (input.ndim === 2) {
    if (offsets !== null)
      refuse(
        'if input is 2D, then offsets has to be null, as input is treated as a mini-batch of fixed length sequences',
        'Give one row of indices with offsets, or rows without.',
      );
    const [bags, length] = input.sizes;
    offsets = arange(0, bags * length, length, { dtype: input.dtype, device: input.device });
    indices = reshape(input, [-1]);
    if (weights !== null) weights = reshape(weights, [-1]);
  } else if (input.ndim !== 1 || offsets === null)
    refuse(
      'embeddingBag: input has to be 2D, or 1D with offsets',
      'Offsets say where each bag begins.',
    );
  limitNorms(weight, indices, options);
  return lookUpBags(weight, indices, offsets!, {
    mode,
    perSampleWeights: weights,
    includeLastOffset: options.includeLastOffset ?? false,
    scaleGradByFreq: options.scaleGradByFreq ?? false,
    paddingIdx: rowOf(options.paddingIdx, weight),
  })[0];
}
