/**
 * @file Distances and angles between corresponding vectors, and renorm, which limits their lengths.
 */
import { type OptionNames, type ScalarLike, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { fixedScalar, scalarValue } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { gt } from '../pointwise/comparison.js';
import { contiguous, detach, toDtype } from '../arrange/copy.js';
import { div } from '../pointwise/division.js';
import { reciprocal } from '../pointwise/exponential.js';
import { clampMin } from '../pointwise/extremum.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { norm } from '../reduction/norm.js';
import { where } from '../pointwise/where.js';

const distOp = defineOp('aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor', {
  decompose: ({ self, other, p }) => norm(sub(self, other), fixedScalar(p)),
});

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

const renormOp = defineOp(
  'aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor',
  {
    decompose: ({ self: x, p, dim, maxnorm }) => {
      const limit = scalarValue(maxnorm);
      if (!(scalarValue(p) > 0) || !(limit >= 0) || x.ndim < 2)
        throw new TesseraError(
          'invalid-argument',
          x.ndim < 2
            ? `renorm: input needs at least 2 dimensions, got ${x.ndim} dimensions`
            : 'renorm: non-positive-norm not supported, and expected maxnorm to be >= 0',
          { hints: ['Give a positive p, a maxnorm of at least 0, and a tensor of slices.'] },
        );
      const at = wrapDim(dim, x.ndim, 'renorm');
      const rest = x.sizes.map((_, i) => i).filter((i) => i !== at);
      const half = x.dtype === 'float16' || x.dtype === 'bfloat16';
      const length = norm(x, p, rest, {
        keepdim: true,
        dtype: half ? 'float32' : x.dtype,
      });
      // Slightly below the limit, so that rounding does not exceed it.
      const shrink = mul(reciprocal(add(length, 1e-7)), limit);
      const factor = where(gt(length, limit), shrink, 1);
      return toDtype(mul(contiguous(x), factor), x.dtype);
    },
  },
);
const renormInplace = defineInplace(renormOp);

const DIST: OptionNames<{ p: number }> = { p: true };

/** The p-norm of self - other. @throws shape-mismatch, dtype-unsupported */
export function dist(self: Tensor, other: Tensor, options?: { readonly p?: ScalarLike }): Tensor {
  checkOptionNames('dist', options, DIST);
  return callOp(distOp, [self, other, options?.p ?? 2]);
}

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

/** Slices along `dim` scaled down to a p-norm of at most maxnorm. @throws invalid-argument, invalid-dim */
export function renorm(self: Tensor, p: ScalarLike, dim: number, maxnorm: ScalarLike): Tensor {
  return callOp(renormOp, [self, p, dim, maxnorm]);
}

/** self = renorm(self) */
export function renorm_(self: Tensor, p: ScalarLike, dim: number, maxnorm: ScalarLike): Tensor {
  return callOp(renormInplace, [self, p, dim, maxnorm]);
}
