/**
 * @file Matrices with orthonormal columns from the reflections that LAPACK's QR leaves.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { eye } from '../factory/range.js';
import { tril } from '../indexing/triangle.js';
import { matmul } from '../matmul/composite.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { mT, unsqueeze } from '../view/dims.js';
import { narrow } from '../view/slice.js';
import { expand } from '../view/view.js';
import { checkMatrix, checkSameDtype } from './shape.js';

/** @throws shape-mismatch */
function refuse(why: string): never {
  throw new TesseraError('shape-mismatch', `torch.linalg.householder_product: ${why}`, {
    hints: ['Vectors are the columns of [.., M, N] below the diagonal; tau is [.., K], K ≤ N ≤ M.'],
  });
}

const householderOp = defineOp(
  'aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor',
  {
    // (1 - τ₁ v₁ v₁ᵀ) (1 - τ₂ v₂ v₂ᵀ) … on the first columns of the identity, from the last factor on.
    decompose: ({ input: x, tau: scales }) => {
      checkMatrix('torch.linalg.householder_product', x);
      checkSameDtype('torch.linalg.householder_product', x, scales);
      const [m, n] = x.sizes.slice(-2);
      if (m < n) refuse('input.shape[-2] must be greater than or equal to input.shape[-1]');
      if (scales.ndim !== x.ndim - 1)
        refuse(
          `Expected tau to have one dimension less than input, but got tau.ndim equal to ${scales.ndim} and input.ndim is equal to ${x.ndim}`,
        );
      const k = scales.sizes.at(-1)!;
      if (k > n) refuse('input.shape[-1] must be greater than or equal to tau.shape[-1]');
      const one = eye(m, n, { dtype: x.dtype, device: x.device });
      const vectors = add(tril(x, -1), one);
      let result = expand(one, x.sizes);
      for (let i = k - 1; i >= 0; i--) {
        const v = narrow(vectors, -1, i, 1);
        const scaled = mul(v, unsqueeze(narrow(scales, -1, i, 1), -1));
        result = sub(result, matmul(scaled, matmul(mT(v), result)));
      }
      return mT(clone(mT(result), { memoryFormat: 'contiguous' }));
    },
  },
);

/** The product of Householder reflections as LAPACK packs them, [.., M, N] and tau [.., K] → [.., M, N]. @throws shape-mismatch, dtype-mismatch, invalid-dim, dtype-unsupported */
export function householderProduct(self: Tensor, tau: Tensor): Tensor {
  return callOp(householderOp, [self, tau]);
}
