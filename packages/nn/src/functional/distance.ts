/**
 * @file Similarity and distance of vectors.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type Tensor,
  add,
  cdist,
  clampMin,
  div,
  index,
  mul,
  norm,
  sub,
  sum,
  triuIndices,
  unbind,
} from '@tessera/tensor';

/** Options of `cosineSimilarity`. */
export interface CosineSimilarityOptions {
  /** Dimension of the vectors (default 1). */
  readonly dim?: number;
  /** Smallest norm that is divided by (default 1e-8). */
  readonly eps?: number;
}
const COSINE_SIMILARITY: OptionNames<CosineSimilarityOptions> = { dim: true, eps: true };

/** x₁ · x₂ / (max(‖x₁‖, eps) max(‖x₂‖, eps)) along a dimension. @throws shape-mismatch @see torch.nn.functional.cosine_similarity */
export function cosineSimilarity(
  x1: Tensor,
  x2: Tensor,
  options: CosineSimilarityOptions = {},
): Tensor {
  checkOptionNames('cosineSimilarity', options, COSINE_SIMILARITY);
  const { dim = 1, eps = 1e-8 } = options;
  const unit = (x: Tensor): Tensor => div(x, clampMin(norm(x, 2, dim, { keepdim: true }), eps));
  return sum(mul(unit(x1), unit(x2)), dim);
}

/** Options of `pairwiseDistance`. */
export interface PairwiseDistanceOptions {
  /** Order of the norm (default 2). */
  readonly p?: number;
  /** Added to differences (default 1e-6). */
  readonly eps?: number;
  /** Whether the last dimension stays, with size 1 (default false). */
  readonly keepdim?: boolean;
}
const PAIRWISE_DISTANCE: OptionNames<PairwiseDistanceOptions> = {
  p: true,
  eps: true,
  keepdim: true,
};

/** ‖x₁ - x₂ + eps‖ along the last dimension. @throws shape-mismatch @see torch.nn.functional.pairwise_distance */
export function pairwiseDistance(
  x1: Tensor,
  x2: Tensor,
  options: PairwiseDistanceOptions = {},
): Tensor {
  checkOptionNames('pairwiseDistance', options, PAIRWISE_DISTANCE);
  const { p = 2, eps = 1e-6, keepdim = false } = options;
  return norm(add(sub(x1, x2), eps), p, -1, { keepdim });
}

/** Options of `pdist`. */
export interface PdistOptions {
  /** Order of the norm, 0 to ∞ (default 2). */
  readonly p?: number;
}
const PDIST: OptionNames<PdistOptions> = { p: true };

/**
 * Distances of all pairs of rows of [n, m], row i before row j for i < j: [n (n - 1) / 2].
 *
 * @throws invalid-dim unless there are two dimensions
 * @see torch.nn.functional.pdist
 */
export function pdist(input: Tensor, options: PdistOptions = {}): Tensor {
  checkOptionNames('pdist', options, PDIST);
  if (input.ndim !== 2)
    throw new TesseraError('invalid-dim', `pdist only supports 2D tensors, got: ${input.ndim}D`, {
      hints: ['Give it the points as rows: [n, m].'],
    });
  const [rows] = input.shape;
  const pairs = unbind(triuIndices(rows, rows, 1, { device: input.device }));
  return index(cdist(input, input, options), ...pairs);
}
