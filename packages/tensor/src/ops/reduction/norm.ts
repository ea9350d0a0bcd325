/**
 * @file logsumexp and vector norms.
 */
import { type ScalarLike, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, type DType } from '../../dtype.js';
import { fixedScalar, scalarValue } from '../../kernels/pointwise-kernel.js';
import { normOf } from '../../kernels/norm-kernel.js';
import { type ReduceArgs, reduceKernel, reduceMeta } from '../../kernels/reduce-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { toFloating } from '../../type-promotion.js';
import { clampMin } from '../pointwise/extremum.js';
import { eq } from '../pointwise/comparison.js';
import { toDtype } from '../arrange/copy.js';
import { exp } from '../pointwise/exponential.js';
import { maskedFill } from '../pointwise/fill.js';
import { div } from '../pointwise/division.js';
import { mul, sub } from '../pointwise/arithmetic.js';
import { pow } from '../pointwise/power.js';
import { checkNotEmpty } from './choosing.js';
import { sum } from './reduction.js';
import { type ReduceOptions, REDUCE } from './reduce-options.js';
import { abs, sign } from '../pointwise/rounding.js';
import { type Dims, dimList, keepDims, spread } from './spread.js';
import { zerosLike } from '../factory/like.js';
import { KEEPDIM, type KeepdimOptions } from './reduce-options.js';

const logsumexpOp = defineOp(
  'aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor',
  {
    tags: ['reduction'],
    meta: reduceMeta('logsumexp', (self) => toFloating(self.dtype)),
    kernel: reduceKernel('logsumexp', (values) => {
      let top = -Infinity;
      // Number: an int64 beyond doubles comes as a BigInt.
      for (const value of values) top = Math.max(top, Number(value));
      if (!Number.isFinite(top)) return top;
      let total = 0;
      for (const value of values) total += Math.exp(Number(value) - top);
      return top + Math.log(total);
    }),
    saved: ['self', 'out'],
    vjp: ({ self, dim }, { grad, out }) => ({
      self: () =>
        mul(spread(grad, self.sizes, dim), exp(sub(self, keepDims(out, self.sizes, dim)))),
    }),
  },
);

/** @throws dtype-unsupported for integers */
function normType(self: Tensor, args: ReduceArgs): DType {
  const dtype = args.dtype ?? self.dtype;
  if (DTYPES[dtype].category !== 'floating' || DTYPES[self.dtype].category !== 'floating') {
    throw new TesseraError(
      'dtype-unsupported',
      `linalg.vector_norm: Expected a floating point or complex tensor as input. Got ${self.dtype}`,
      { hints: ["Convert first: x.to('float32')."] },
    );
  }
  return dtype;
}

/** @see norm_backward in PyTorch's FunctionsManual */
function normGradient(grad: Tensor, input: Tensor, out: Tensor, p: number, dim: Dims): Tensor {
  const self = input.dtype === grad.dtype ? input : toDtype(input, grad.dtype);
  const sizes = self.sizes;
  const kept = keepDims(grad, sizes, dim);
  const norm = keepDims(out, sizes, dim);
  if (p === 0) return zerosLike(self);
  if (p === 1) return mul(sign(self), kept);
  if (p === 2) return mul(kept, maskedFill(div(self, norm), eq(norm, 0), 0));
  if (Math.abs(p) === Infinity) {
    const mask = eq(abs(self), norm);
    // A norm of NaN is that of no element.
    const count = clampMin(sum(mask, dim, { keepdim: true }), 1);
    return mul(mul(sign(self), mask), div(kept, count));
  }
  if (p < 1) {
    const powered = maskedFill(pow(abs(self), p - 1), eq(self, 0), 0);
    return mul(mul(sign(self), powered), mul(kept, pow(norm, 1 - p)));
  }
  const scale = maskedFill(div(kept, pow(norm, p - 1)), eq(norm, 0), 0);
  return p < 2
    ? mul(mul(sign(self), pow(abs(self), p - 1)), scale)
    : mul(mul(self, pow(abs(self), p - 2)), scale);
}

const vectorNormMeta = reduceMeta('linalg_vector_norm', normType);

const vectorNormOp = defineOp(
  'aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
  {
    tags: ['reduction'],
    // The gradient is another sum of operators for each order.
    meta: (args) => {
      const ord = fixedScalar(args.ord);
      // The largest and the smallest magnitude of nothing are no numbers.
      if (ord < 0 || ord === Infinity) checkNotEmpty('linalg.vector_norm', args);
      return vectorNormMeta(args);
    },
    kernel: reduceKernel('linalg_vector_norm', (values, args) =>
      normOf(values, scalarValue(args.ord)),
    ),
    saved: ['self', 'out'],
    vjp: ({ self, ord, dim }, { grad, out }) => ({
      self: () => normGradient(grad, self, out, scalarValue(ord), dim),
    }),
  },
);
export const normDimOp: OpOverload<Tensor> = defineOp(
  'aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor',
  {
    decompose: ({ self, p, dim, keepdim }) =>
      callOp(vectorNormOp, [self, p ?? 2, dim, keepdim, null]),
  },
);

/** log Σ exp(x) over dims, without overflow. @throws invalid-dim */
export function logsumexp(
  self: Tensor,
  dim: number | readonly number[],
  options?: KeepdimOptions,
): Tensor {
  checkOptionNames('logsumexp', options, KEEPDIM);
  return callOp(logsumexpOp, [self, dimList(dim), options?.keepdim ?? false]);
}

/**
 * The p-norm over dims (all by default): `ord` 2, or 'fro', unless given; ±Infinity for the largest or smallest magnitude.
 * The nuclear norm is `linalg.norm(x, 'nuc')`.
 *
 * @throws dtype-unsupported
 */
export function norm(
  self: Tensor,
  ord: ScalarLike | 'fro' = 2,
  dim: Dims = null,
  options?: ReduceOptions,
): Tensor {
  checkOptionNames('norm', options, REDUCE);
  return callOp(vectorNormOp, [
    self,
    ord === 'fro' ? 2 : ord,
    dimList(dim),
    options?.keepdim ?? false,
    options?.dtype ?? null,
  ]);
}
