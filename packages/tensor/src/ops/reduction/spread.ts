/**
 * @file Giving the result of a reduction its reduced dims back, as the gradients of reductions do.
 */
import { reducedSizes, sameNumbers, wrapDims } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { expand, reshape } from '../view/view.js';

/** Dims of a reduction argument: a number, a list, or null for all. */
export type Dims = number | readonly number[] | null;

/** `reduced` with size-1 dims where dims of a tensor of shape `sizes` were reduced. */
export function keepDims(reduced: Tensor, sizes: readonly number[], dim: Dims): Tensor {
  const kept = reducedSizes(sizes, wrapDims(dim, sizes.length), true);
  return sameNumbers(kept, reduced.sizes) ? reduced : reshape(reduced, kept);
}

/** `reduced` repeated over the reduced dims. */
export function spread(reduced: Tensor, sizes: readonly number[], dim: Dims): Tensor {
  return expand(keepDims(reduced, sizes, dim), sizes);
}

/** The argument as ATen's `int[1]? dim` takes it. */
export function dimList(dim: Dims | undefined): readonly number[] | null {
  return dim === null || dim === undefined ? null : typeof dim === 'number' ? [dim] : dim;
}

/** Number of elements that a reduction combines. */
export function reducedCount(sizes: readonly number[], dim: Dims): number {
  return wrapDims(dim, sizes.length).reduce((count, d) => count * sizes[d]!, 1);
}
