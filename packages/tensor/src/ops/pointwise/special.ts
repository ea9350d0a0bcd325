/**
 * @file Special functions: gamma, Bessel, inverse error function.
 */
import { digamma as digammaOf, logGamma } from '../../kernels/gamma-functions.js';
import { erfinv as erfinvOf } from '../../kernels/special-functions.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { exp } from './exponential.js';
import { mul } from './arithmetic.js';
import { floatingFunction } from './floating-function.js';
import { i0 as besselI0, i0Op } from './modified-bessel-i.js';
import { polygamma } from './polygamma.js';

const lgammaOp = floatingFunction('lgamma', logGamma, (grad, x) => mul(grad, digamma(x)));
const digammaOp = floatingFunction('digamma', digammaOf, (grad, x) => mul(grad, polygamma(1, x)));
const erfinvOp = floatingFunction(
  'erfinv',
  erfinvOf,
  (grad, _x, y) => mul(grad, mul(exp(mul(y, y)), Math.sqrt(Math.PI) / 2)),
  ['out'],
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
export const i0: Unary = besselI0;
/** self = i0(self) */
export const i0_: Unary = unaryFunction(defineInplace(i0Op));
