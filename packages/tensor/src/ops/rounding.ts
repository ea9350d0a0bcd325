/**
 * @file abs, sign and rounding. Their gradients are zero or a sign.
 */
import { signOf, roundHalfEven } from '../kernels/special-functions.js';
import { unary } from '../kernels/pointwise-kernel.js';
import { defineInplace } from '../op/inplace.js';
import { type Unary, unaryFunction } from '../op/op-functions.js';
import { defineOp } from '../op/op-overload.js';
import type { Vjp } from '../op/op-record.js';
import type { Tensor } from '../tensor.js';
import { zerosLike } from './factory-like.js';
import { mul } from './pointwise-arithmetic.js';

const zeroGradient: Vjp = (_args, { grad }) => ({ self: () => zerosLike(grad) });

const absOp = defineOp(
  'aten::abs(Tensor self) -> Tensor',
  unary(Math.abs, {
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => mul(grad, sign(self as Tensor)) }),
  }),
);
const signOp = defineOp('aten::sign(Tensor self) -> Tensor', unary(signOf, { vjp: zeroGradient }));
const floorOp = defineOp(
  'aten::floor(Tensor self) -> Tensor',
  unary(Math.floor, { vjp: zeroGradient }),
);
const ceilOp = defineOp(
  'aten::ceil(Tensor self) -> Tensor',
  unary(Math.ceil, { vjp: zeroGradient }),
);
const roundOp = defineOp(
  'aten::round(Tensor self) -> Tensor',
  unary(roundHalfEven, { vjp: zeroGradient }),
);
const truncOp = defineOp(
  'aten::trunc(Tensor self) -> Tensor',
  unary(Math.trunc, { vjp: zeroGradient }),
);

/** |self| */
export const abs: Unary = unaryFunction(absOp);
/** self = |self| */
export const abs_: Unary = unaryFunction(defineInplace(absOp));
/** -1, 0 or 1. */
export const sign: Unary = unaryFunction(signOp);
/** self = sign(self) */
export const sign_: Unary = unaryFunction(defineInplace(signOp));
/** Rounded down. */
export const floor: Unary = unaryFunction(floorOp);
/** self = floor(self) */
export const floor_: Unary = unaryFunction(defineInplace(floorOp));
/** Rounded up. */
export const ceil: Unary = unaryFunction(ceilOp);
/** self = ceil(self) */
export const ceil_: Unary = unaryFunction(defineInplace(ceilOp));
/** Rounded to the nearest integer, halves to even. */
export const round: Unary = unaryFunction(roundOp);
/** self = round(self) */
export const round_: Unary = unaryFunction(defineInplace(roundOp));
/** Rounded towards zero. */
export const trunc: Unary = unaryFunction(truncOp);
/** self = trunc(self) */
export const trunc_: Unary = unaryFunction(defineInplace(truncOp));
