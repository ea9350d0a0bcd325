/**
 * @file Special functions: gamma, Bessel, inverse error function.
 */
import { besselI0, besselI0e, besselI1, besselI1e } from '../../kernels/bessel-functions.js';
import { digamma as digammaOf, logGamma } from '../../kernels/gamma-functions.js';
import { unary } from '../../kernels/pointwise-kernel.js';
import { erfinv as erfinvOf } from '../../kernels/special-functions.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { gt } from './comparison.js';
import { div } from './division.js';
import { exp, reciprocal } from './exponential.js';
import { add, mul, sub } from './arithmetic.js';
import { polygamma } from './polygamma.js';
import { abs, sign } from './rounding.js';
import { where } from './where.js';

type Gradient = (grad: Tensor, x: Tensor, y: Tensor) => Tensor;

/** A function whose derivative is one of its argument and, if asked for, of its value. */
function define(
  name: string,
  fn: (x: number) => number,
  gradient: Gradient,
  saved: readonly ('self' | 'out')[] = ['self'],
): OpOverload<Tensor> {
  return defineOp(
    `aten::${name}(Tensor self) -> Tensor`,
    unary(fn, {
      result: 'float',
      saved,
      vjp: ({ self }, { grad, out }) => ({ self: () => gradient(grad, self, out) }),
    }),
  );
}

const lgammaOp = define('lgamma', logGamma, (grad, x) => mul(grad, digamma(x)));
const digammaOp = define('digamma', digammaOf, (grad, x) => mul(grad, polygamma(1, x)));
const erfinvOp = define(
  'erfinv',
  erfinvOf,
  (grad, _x, y) => mul(grad, mul(exp(mul(y, y)), Math.sqrt(Math.PI) / 2)),
  ['out'],
);

/** `value` away from 0, its limit at 0: the quotient there is 0/0. */
function awayFromZero(x: Tensor, value: Tensor, limit: number): Tensor {
  return where(gt(abs(x), x.dtype === 'float64' ? 2 ** -52 : 2 ** -23), value, limit);
}

const BOTH: readonly ('self' | 'out')[] = ['self', 'out'];
const i0Op = define('i0', besselI0, (grad, x) => mul(grad, specialI1(x)));
const i1Op = define(
  'special_i1',
  besselI1,
  (grad, x, y) => mul(grad, awayFromZero(x, sub(i0(x), div(y, x)), 0.5)),
  BOTH,
);
const i0eOp = define(
  'special_i0e',
  besselI0e,
  (grad, x, y) => mul(grad, sub(specialI1e(x), mul(sign(x), y))),
  BOTH,
);
const i1eOp = define(
  'special_i1e',
  besselI1e,
  (grad, x, y) =>
    mul(grad, awayFromZero(x, sub(specialI0e(x), mul(y, add(sign(x), reciprocal(x)))), 0.5)),
  BOTH,
);

/** log |Γ(x)| */
export const lgamma: Unary = unaryFunction(lgammaOp);
/** self = lgamma(self) */
export const lgamma_: Unary = unaryFunction(defineInplace(lgammaOp));
/** The derivative of lgamma. */
export const digamma: Unary = unaryFunction(digammaOp);
/** self = digamma(self) */
export const digamma_: Unary = unaryFunction(defineInplace(digammaOp));
/** The inverse of erf; NaN outside [-1, 1]. */
export const erfinv: Unary = unaryFunction(erfinvOp);
/** self = erfinv(self) */
export const erfinv_: Unary = unaryFunction(defineInplace(erfinvOp));
/** Modified Bessel function of the first kind, order 0. */
export const i0: Unary = unaryFunction(i0Op);
/** self = i0(self) */
export const i0_: Unary = unaryFunction(defineInplace(i0Op));
/** Modified Bessel function of the first kind, order 1. @see torch.special.i1 */
export const specialI1: Unary = unaryFunction(i1Op);
/** i0(x) · e^-|x| @see torch.special.i0e */
export const specialI0e: Unary = unaryFunction(i0eOp);
/** i1(x) · e^-|x| @see torch.special.i1e */
export const specialI1e: Unary = unaryFunction(i1eOp);
