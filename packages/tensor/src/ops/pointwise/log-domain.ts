/**
 * @file Logarithms of sums, odds and products: logaddexp, logit, xlogy.
 */
import { addedLogs } from '../../kernels/special-functions.js';
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import { roundTo } from '../../kernels/elements.js';
import { pointwise, pointwiseWith, scalarValue } from '../../kernels/pointwise-kernel.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import { type Binary, type TensorBinary, binaryFunction } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { resultType, toFloating } from '../../type-promotion.js';
import { eq, ge, le } from './comparison.js';
import { div } from './division.js';
import { exp, exp2 } from './exponential.js';
import { zerosLike } from '../factory/like.js';
import { maskedFill } from './fill.js';
import { logicalAnd } from './logical.js';
import { add, mul, sub } from './arithmetic.js';
import { rsub } from './rsub.js';
import { where } from './where.js';

/** log of the sum of two powers of a base. */
function logAddExp(name: string, base: number, power: (x: Tensor) => Tensor): OpOverload<Tensor> {
  const share = (grad: Tensor, own: Tensor, other: Tensor): Tensor =>
    div(grad, add(power(sub(other, own)), 1));
  return defineOp(
    `aten::${name}(Tensor self, Tensor other) -> Tensor`,
    restrictedTo(
      'floating',
      name,
      pointwise((a, b) => addedLogs(a, b, base), {
        name,
        saved: ['self', 'other'],
        vjp: ({ self, other }, { grad }) => ({
          self: () => share(grad, self, other),
          other: () => share(grad, other, self),
        }),
      }),
    ),
  );
}

const logaddexpOp = logAddExp('logaddexp', Math.E, exp);
const logaddexp2Op = logAddExp('logaddexp2', 2, exp2);

/** logit in a dtype: each step rounds, as in PyTorch. */
function logitIn(dtype: DType, eps: number | null | undefined): (x: number) => number {
  const low = eps === null || eps === undefined ? null : roundTo(dtype, scalarValue(eps));
  const high = low === null ? null : roundTo(dtype, 1 - low);
  return (x) => {
    const z = low !== null && x < low ? low : high !== null && x > high ? high : x;
    return z === 1 ? Infinity : Math.log(roundTo(dtype, z / roundTo(dtype, 1 - z)));
  };
}

const logitOp = defineOp(
  'aten::logit(Tensor self, float? eps=None) -> Tensor',
  pointwiseWith(({ self, eps }) => logitIn(toFloating(self.dtype), eps), {
    operands: ['self'],
    result: 'float',
    saved: ['self'],
    vjp: ({ self, eps }, { grad }) => ({
      self: () => logitBackward(grad, self, eps),
    }),
  }),
);
const logitInplace = defineInplace(logitOp);

/** Where the derivative of logit is not that of a limit. */
function insideLimits(x: Tensor, eps: number | null): Tensor {
  const low = eps ?? 0;
  return logicalAnd(ge(x, low), le(x, 1 - low));
}

const logitBackwardOp = defineOp(
  'aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor',
  restrictedTo(
    'floating',
    'logit_backward',
    pointwiseWith(
      ({ eps }) => {
        const absent = eps === null || eps === undefined;
        const low = absent ? 0 : scalarValue(eps);
        return (grad, x) =>
          x! < low || x! > 1 - low ? (absent ? NaN : 0) : grad! / (x! * (1 - x!));
      },
      {
        operands: ['grad_output', 'self'],
        saved: ['grad_output', 'self'],
        vjp: ({ grad_output, self, eps }, { grad }) => ({
          grad_output: () => logitBackward(grad, self, eps),
          self: () => {
            const x = self;
            const variance = mul(x, rsub(x, 1));
            const bend = div(sub(mul(x, 2), 1), mul(variance, variance));
            return where(insideLimits(x, eps), mul(mul(grad, grad_output), bend), 0);
          },
        }),
      },
    ),
  ),
);

function logitBackward(grad: Tensor, self: Tensor, eps: number | null): Tensor {
  return callOp(logitBackwardOp, [grad, self, eps]);
}

/** The logarithm is rounded before it is multiplied, as PyTorch's is. */
function xlogyIn(dtype: DType): (x: number, y: number) => number {
  return (x, y) => (x === 0 && !Number.isNaN(y) ? 0 : x * roundTo(dtype, Math.log(y)));
}

const xlogyOp = defineOp(
  'aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor',
  pointwiseWith(({ self, other }) => xlogyIn(toFloating(resultType([self, other]))), {
    name: 'xlogy',
    result: 'float',
    saved: ['self', 'other'],
    vjp: ({ self, other }, { grad }) => ({
      self: () => {
        const slope = xlogy(grad, other);
        const isZero = eq(self, 0);
        // A number as a tensor: a lifted one must not be read.
        const bound = isTensor(other) ? other : add(zerosLike(slope), other);
        return maskedFill(slope, logicalAnd(isZero, le(bound, 0)), 0);
      },
      other: () => div(mul(grad, self), other),
    }),
  }),
);
const xlogyInplace = defineInplace(xlogyOp);
export const xlogyScalarSelfOp: OpOverload<Tensor> = defineOp(
  'aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor',
  {
    decompose: ({ self, other }) => callOp(xlogyOp, [self, other]),
  },
);
export const xlogyScalarOtherOp: OpOverload<Tensor> = defineOp(
  'aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor',
  {
    decompose: ({ self, other }) => callOp(xlogyOp, [self, other]),
  },
);
export const xlogyInplaceScalarOtherOp: OpOverload<Tensor> = defineOp(
  'aten::xlogy_.Scalar_Other(Tensor(a!) self, Scalar other) -> Tensor(a!)',
  {
    decompose: ({ self, other }) => callOp(xlogyInplace, [self, other]),
  },
);

/** log(exp(self) + exp(other)). @throws shape-mismatch, dtype-unsupported */
export const logaddexp: TensorBinary = binaryFunction(logaddexpOp);
/** log₂(2^self + 2^other). @throws shape-mismatch, dtype-unsupported */
export const logaddexp2: TensorBinary = binaryFunction(logaddexp2Op);

/** Options of `logit`. */
export interface LogitOptions {
  /** What x is limited by (default null: not limited). */
  readonly eps?: number | null;
}
const LOGIT: OptionNames<LogitOptions> = { eps: true };

/** log(x / (1 - x)), of x limited to [eps, 1 - eps] if eps is given. */
export function logit(self: Tensor, options?: LogitOptions): Tensor {
  checkOptionNames('logit', options, LOGIT);
  return callOp(logitOp, [self, options?.eps ?? null]);
}

/** self = logit(self, options) */
export function logit_(self: Tensor, options?: LogitOptions): Tensor {
  checkOptionNames('logit_', options, LOGIT);
  return callOp(logitInplace, [self, options?.eps ?? null]);
}

/** self · log(other), 0 where self is 0. @throws shape-mismatch */
export const xlogy: Binary = binaryFunction(xlogyOp);
/** self = xlogy(self, other) */
export const xlogy_: Binary = binaryFunction(xlogyInplace);
