/**
 * @file Products added to a tensor: addbmm, addmv, addr. Each is one fused product or multiply-add.
 */
import { type ScalarLike, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, type DType, isFloatingPoint } from '../../dtype.js';
import { roundTo } from '../../kernels/elements.js';
import { checkFactor } from '../../kernels/factor.js';
import { fixedScalar } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { promoteTypes } from '../../type-promotion.js';
import { toDtype } from '../arrange/copy.js';
import { ones } from '../factory/factory.js';
import { maskedFill } from '../pointwise/fill.js';
import { logicalAnd, logicalOr } from '../pointwise/logical.js';
import { addmm } from './matmul.js';
import { type ProductOptions, PRODUCT } from './product-options.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { squeeze, unsqueeze } from '../view/dims.js';
import { select } from '../view/slice.js';
import { expand, permute, reshape } from '../view/view.js';

/** @throws shape-mismatch always */
function refuse(name: string, ...operands: readonly Tensor[]): never {
  throw new TesseraError(
    'shape-mismatch',
    `${name}: shapes ${operands.map((x) => formatSizes(x.sizes)).join(' and ')} cannot be multiplied`,
    { hints: ['Inner sizes are equal.'] },
  );
}

const addbmmOp = defineOp(
  'aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
  {
    // As PyTorch's, addbmm_ grows a self that would broadcast.
    resizes: ({ self, batch1, batch2 }) =>
      batch1.ndim === 3 &&
      batch2.ndim === 3 &&
      !sameNumbers(self.sizes, [batch1.sizes[1], batch2.sizes[2]]),
    decompose: ({ self, batch1: a, batch2: b, beta, alpha }) => {
      if (a.ndim !== 3 || b.ndim !== 3 || a.sizes[0] !== b.sizes[0] || a.sizes[2] !== b.sizes[1])
        refuse('addbmm', a, b);
      if (DTYPES[a.dtype].itemSize === 2 && isFloatingPoint(a.dtype))
        return addedInTurn(self, a, b, beta, alpha);
      // The batch is one more summed dimension of a single product.
      const [batch, rows, inner] = a.sizes;
      return addmm(
        self,
        reshape(permute(a, [1, 0, 2]), [rows, batch * inner]),
        reshape(b, [batch * inner, b.sizes[2]!]),
        { beta: beta, alpha: alpha },
      );
    },
  },
);

/** One product after the other: the sum is rounded to 16 bits after each, as PyTorch's is. */
function addedInTurn(
  self: Tensor,
  a: Tensor,
  b: Tensor,
  beta: ScalarLike,
  alpha: ScalarLike,
): Tensor {
  let total = expand(self, [a.sizes[1]!, b.sizes[2]!]);
  if (a.sizes[0] === 0) return mul(total, beta);
  for (let i = 0; i < a.sizes[0]!; i++)
    total = addmm(total, select(a, 0, i), select(b, 0, i), { beta: i === 0 ? beta : 1, alpha });
  return total;
}

const addmvOp = defineOp(
  'aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
  {
    decompose: ({ self, mat: a, vec: x, beta, alpha }) => {
      if (a.ndim !== 2 || x.ndim !== 1 || a.sizes[1] !== x.sizes[0]) refuse('addmv', a, x);
      const start = unsqueeze(expand(self, [a.sizes[0]!]), 1);
      const options = { beta: beta, alpha: alpha };
      return squeeze(addmm(start, a, unsqueeze(x, 1), options), 1);
    },
  },
);

const addrOp = defineOp(
  'aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
  {
    decompose: ({ self, vec1: a, vec2: b, beta, alpha }) => {
      if (a.ndim !== 1 || b.ndim !== 1)
        throw new TesseraError(
          'shape-mismatch',
          `addr: Expected 1-D argument vec1 and vec2, but got ${a.ndim}-D and ${b.ndim}-D`,
          { hints: ['Pass vectors.'] },
        );
      const dtype = [a, b].reduce<DType>((type, x) => promoteTypes(type, x.dtype), self.dtype);
      checkFactor('beta', beta, dtype);
      checkFactor('alpha', alpha, dtype);
      const start = toDtype(expand(self, [a.numel, b.numel]), dtype);
      const column = unsqueeze(toDtype(a, dtype), 1);
      const row = toDtype(b, dtype);
      // The factors take part in the result's type.
      const [scale, weight] = [beta, alpha].map((factor) => roundTo(dtype, fixedScalar(factor)));
      if (dtype === 'bool') {
        const outer = weight === 0 ? mul(logicalAnd(column, row), false) : logicalAnd(column, row);
        return scale === 0 ? outer : logicalOr(start, outer);
      }
      const outer = mul(weight === 1 ? column : mul(column, weight), row);
      // beta = 0 ignores what self holds, NaN too; its gradient is zero.
      if (scale !== 0) return add(scale === 1 ? start : mul(start, scale), outer);
      const everywhere = ones([], { dtype: 'bool', device: outer.device });
      return add(maskedFill(start, everywhere, 0), outer);
    },
  },
);

const addbmmInplace = defineInplace(addbmmOp);
const addmvInplace = defineInplace(addmvOp);
const addrInplace = defineInplace(addrOp);

function call(
  op: OpOverload<Tensor>,
  x: Tensor,
  a: Tensor,
  b: Tensor,
  options: ProductOptions,
): Tensor {
  return callOp(op, [x, a, b, options.beta ?? 1, options.alpha ?? 1]);
}

/** beta · self + alpha · Σ batch1[i] @ batch2[i], [B, M, K] and [B, K, N] → [M, N]. @throws shape-mismatch */
export function addbmm(
  self: Tensor,
  batch1: Tensor,
  batch2: Tensor,
  options: ProductOptions = {},
): Tensor {
  checkOptionNames('addbmm', options, PRODUCT);
  return call(addbmmOp, self, batch1, batch2, options);
}

/** self = beta · self + alpha · Σ batch1[i] @ batch2[i] */
export function addbmm_(
  self: Tensor,
  batch1: Tensor,
  batch2: Tensor,
  options: ProductOptions = {},
): Tensor {
  checkOptionNames('addbmm_', options, PRODUCT);
  return call(addbmmInplace, self, batch1, batch2, options);
}

/** beta · self + alpha · mat @ vec, [M, K] and [K] → [M]. @throws shape-mismatch */
export function addmv(
  self: Tensor,
  mat: Tensor,
  vec: Tensor,
  options: ProductOptions = {},
): Tensor {
  checkOptionNames('addmv', options, PRODUCT);
  return call(addmvOp, self, mat, vec, options);
}

/** self = beta · self + alpha · mat @ vec */
export function addmv_(
  self: Tensor,
  mat: Tensor,
  vec: Tensor,
  options: ProductOptions = {},
): Tensor {
  checkOptionNames('addmv_', options, PRODUCT);
  return call(addmvInplace, self, mat, vec, options);
}

/** beta · self + alpha · outer(vec1, vec2). @throws shape-mismatch, dtype-mismatch */
export function addr(
  self: Tensor,
  vec1: Tensor,
  vec2: Tensor,
  options: ProductOptions = {},
): Tensor {
  checkOptionNames('addr', options, PRODUCT);
  return call(addrOp, self, vec1, vec2, options);
}

/** self = beta · self + alpha · outer(vec1, vec2) */
export function addr_(
  self: Tensor,
  vec1: Tensor,
  vec2: Tensor,
  options: ProductOptions = {},
): Tensor {
  checkOptionNames('addr_', options, PRODUCT);
  return call(addrInplace, self, vec1, vec2, options);
}
