/**
 * @file How near the vectors of two tensors are, pair by pair: no methods of tensors, as in PyTorch.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { detach, toDtype } from '../arrange/copy.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { div } from '../pointwise/division.js';
import { clampMin } from '../pointwise/extremum.js';
import { norm } from '../reduction/norm.js';
import { sum } from '../reduction/reduction.js';

const pairwiseOp = defineOp(
  'aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor',
  {
    decompose: ({ x1, x2, p, eps, keepdim }) => {
      const difference = sub(x1, x2);
      // eps keeps the derivative finite where both are equal.
      const apart = add(toFloatingTensor(difference), eps);
      return norm(apart, p, -1, { keepdim: keepdim });
    },
  },
);

/** Integers become the default float type, as adding a float to them does. */
function toFloatingTensor(tensor: Tensor): Tensor {
  return isFloatingPoint(tensor.dtype) ? tensor : toDtype(tensor, resultType([tensor, 0.5]));
}

/** Length along a dim, no less than eps; its derivative ignores the limit. */
function lengthOf(x: Tensor, dim: number, eps: number): Tensor {
  const length = norm(x, 2, dim, { keepdim: true });
  const value = detach(length);
  return add(length, sub(clampMin(value, eps), value));
}

const cosineOp = defineOp(
  'aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor',
  {
    decompose: ({ x1, x2, dim, eps }) => {
      const dtype = resultType([x1, x2]);
      if (!isFloatingPoint(dtype))
        throw new TesseraError(
          'dtype-unsupported',
          `expected common dtype to be floating point, yet common dtype is ${dtype}`,
          { hints: ["Convert first: x.to('float32')."] },
        );
      const sizes = broadcastShapes([x1.sizes, x2.sizes], 'cosine_similarity');
      const at = wrapDim(dim, sizes.length, 'cosine_similarity');
      const unit = (x: Tensor): Tensor => {
        const vectors = toDtype(x, dtype).expand(sizes);
        return div(vectors, lengthOf(vectors, at, eps));
      };
      return sum(mul(unit(x1), unit(x2)), sizes.length === 0 ? null : at);
    },
  },
);

const PAIRWISE_DISTANCE: OptionNames<{ p?: number; eps?: number; keepdim?: boolean }> = {
  p: true,
  eps: true,
  keepdim: true,
};

/** p-norms of differences of vectors in the last dimension. @throws shape-mismatch */
export function pairwiseDistance(
  x1: Tensor,
  x2: Tensor,
  options: { p?: number; eps?: number; keepdim?: boolean } = {},
): Tensor {
  checkOptionNames('pairwiseDistance', options, PAIRWISE_DISTANCE);
  const { p = 2, eps = 1e-6, keepdim = false } = options;
  return callOp(pairwiseOp, [x1, x2, p, eps, keepdim]);
}

const DIM_EPS: OptionNames<{ dim?: number; eps?: number }> = { dim: true, eps: true };

/** Cosines of the angles between vectors along a dimension; lengths count as at least eps. @throws shape-mismatch, dtype-unsupported */
export function cosineSimilarity(
  x1: Tensor,
  x2: Tensor,
  options?: { dim?: number; eps?: number },
): Tensor {
  checkOptionNames('cosineSimilarity', options, DIM_EPS);
  return callOp(cosineOp, [x1, x2, options?.dim ?? 1, options?.eps ?? 1e-8]);
}
