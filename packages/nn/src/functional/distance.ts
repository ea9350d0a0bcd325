/**
 * @file Similarity and distance of vectors.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, cdist, index, triuIndices, unbind } from '@tessera/tensor';
import { checkTensors } from '@tessera/tensor/internal';

export { cosineSimilarity, pairwiseDistance } from '@tessera/tensor';

/** Options of `cosineSimilarity`. */
export interface CosineSimilarityOptions {
  /** Dimension of the vectors (default 1). */
  readonly dim?: number;
  /** Smallest norm that is divided by (default 1e-8). */
  readonly eps?: number;
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
  checkTensors('pdist', { input });
  if (input.ndim !== 2)
    throw new TesseraError('invalid-dim', `pdist only supports 2D tensors, got: ${input.ndim}D`, {
      hints: ['Give it the points as rows: [n, m].'],
    });
  const [rows] = input.shape;
  const pairs = unbind(triuIndices(rows, rows, 1, { device: input.device }));
  return index(cdist(input, input, options), ...pairs);
}
