/**
 * @file Modified Bessel functions of the first kind. The first of them is a method of `Tensor`, as in PyTorch; the others are
 * functions of `special`.
 */
import { besselI0, besselI0e, besselI1, besselI1e } from '../../kernels/bessel-functions.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import type { OpOverload } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { gt } from './comparison.js';
import { div } from './division.js';
import { reciprocal } from './exponential.js';
import { add, mul, sub } from './arithmetic.js';
import { floatingFunction } from './floating-function.js';
import { abs, sign } from './rounding.js';
import { where } from './where.js';

/** `value` away from 0, its limit at 0: the quotient there is 0/0. */
function awayFromZero(x: Tensor, value: Tensor, limit: number): Tensor {
  return where(gt(abs(x), x.dtype === 'float64' ? 2 ** -52 : 2 ** -23), value, limit);
}

const BOTH: readonly ('self' | 'out')[] = ['self', 'out'];
export const i0Op: OpOverload<Tensor> = floatingFunction('i0', besselI0, (grad, x) =>
  mul(grad, i1(x)),
);
const i1Op = floatingFunction(
  'special_i1',
  besselI1,
  (grad, x, y) => mul(grad, awayFromZero(x, sub(i0(x), div(y, x)), 0.5)),
  BOTH,
);
const i0eOp = floatingFunction(
  'special_i0e',
  besselI0e,
  (grad, x, y) => mul(grad, sub(i1e(x), mul(sign(x), y))),
  BOTH,
);
const i1eOp = floatingFunction(
  'special_i1e',
  besselI1e,
  (grad, x, y) => mul(grad, awayFromZero(x, sub(i0e(x), mul(y, add(sign(x), reciprocal(x)))), 0.5)),
  BOTH,
);

/** Modified Bessel function of the first kind, order 0. */
export const i0: Unary = unaryFunction(i0Op);
/** Modified Bessel function of the first kind, order 1. @see torch.special.i1 */
export const i1: Unary = unaryFunction(i1Op);
/** i0(x) · e^-|x| @see torch.special.i0e */
export const i0e: Unary = unaryFunction(i0eOp);
/** i1(x) · e^-|x| @see torch.special.i1e */
export const i1e: Unary = unaryFunction(i1eOp);
