/**
 * @file How far apart two tensors are, and renorm, which limits lengths.
 */
import { type OptionNames, type ScalarLike, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { fixedScalar } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { gt } from '../pointwise/comparison.js';
import { contiguous, toDtype } from '../arrange/copy.js';
import { reciprocal } from '../pointwise/exponential.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { norm } from '../reduction/norm.js';
import { where } from '../pointwise/where.js';

const distOp = defineOp('aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor', {
  decompose: ({ self, other, p }) => norm(sub(self, other), fixedScalar(p)),
});

const renormOp = defineOp(
  'aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor',
  {
    decompose: ({ self: x, p, dim, maxnorm }) => {
      const limit = fixedScalar(maxnorm);
      if (!(fixedScalar(p) > 0) || !(limit >= 0) || x.ndim < 2)
        throw new TesseraError(
          'invalid-argument',
          x.ndim < 2
            ? `renorm: input needs at least 2 dimensions, got ${x.ndim} dimensions`
            : 'renorm: non-positive-norm not supported, and expected maxnorm to be >= 0',
          { hints: ['Give p > 0.'] },
        );
      const at = wrapDim(dim, x.ndim, 'renorm');
      const rest = x.sizes.map((_, i) => i).filter((i) => i !== at);
      const half = x.dtype === 'float16' || x.dtype === 'bfloat16';
      const lengthOf = (y: Tensor): Tensor =>
        norm(y, p, rest, { keepdim: true, dtype: half ? 'float32' : x.dtype });
      const isLong = gt(lengthOf(x), limit);
      // A gradient of 0 times the NaN of a row that is not shortened would be NaN: its length is not differentiated.
      const length = lengthOf(where(isLong, x, 0));
      // Slightly below the limit, so that rounding does not exceed it.
      const shrink = mul(reciprocal(add(length, 1e-7)), limit);
      const factor = where(isLong, shrink, 1);
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

/** Slices along `dim` scaled down to a p-norm of at most maxnorm. @throws invalid-argument, invalid-dim */
export function renorm(self: Tensor, p: ScalarLike, dim: number, maxnorm: ScalarLike): Tensor {
  return callOp(renormOp, [self, p, dim, maxnorm]);
}

/** self = renorm(self) */
export function renorm_(self: Tensor, p: ScalarLike, dim: number, maxnorm: ScalarLike): Tensor {
  return callOp(renormInplace, [self, p, dim, maxnorm]);
}
