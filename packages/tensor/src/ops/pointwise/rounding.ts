/**
 * @file abs, sign, rounding and the fractional part. Their gradients are zero, one or a sign.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { roundTo } from '../../kernels/elements.js';
import { isBig } from '../../kernels/integer-arithmetic.js';
import { NUMBERS, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { signOf, roundHalfEven } from '../../kernels/special-functions.js';
import { pointwiseWith, unary } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { defineOp } from '../../op/op-overload.js';
import type { GradsOf, Vjp } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';
import { mul } from './arithmetic.js';

const zeroGradient: Vjp<{ self: Tensor }> = (_args, { grad }) => ({ self: () => zerosLike(grad) });

/** What leaves BigInts as they are. */
const whole =
  (fn: (x: number) => number) =>
  (x: number): number =>
    isBig(x) ? x : fn(x);

const absOp = defineOp(
  'aten::abs(Tensor self) -> Tensor',
  restrictedTo(
    NUMBERS,
    'abs',
    unary((x) => (isBig(x) ? (x < 0 ? -x : x) : Math.abs(x)), {
      saved: ['self'],
      vjp: ({ self }, { grad }) => ({ self: () => mul(grad, sign(self)) }),
    }),
  ),
);
const signOp = defineOp('aten::sign(Tensor self) -> Tensor', unary(signOf, { vjp: zeroGradient }));
const floorOp = defineOp(
  'aten::floor(Tensor self) -> Tensor',
  restrictedTo(NUMBERS, 'floor', unary(whole(Math.floor), { vjp: zeroGradient })),
);
const ceilOp = defineOp(
  'aten::ceil(Tensor self) -> Tensor',
  restrictedTo(NUMBERS, 'ceil', unary(whole(Math.ceil), { vjp: zeroGradient })),
);
const roundOp = defineOp(
  'aten::round(Tensor self) -> Tensor',
  restrictedTo(NUMBERS, 'round', unary(whole(roundHalfEven), { vjp: zeroGradient })),
);
type RoundArgs = { self: Tensor; decimals: number };

const roundDecimalsOp = defineOp(
  'aten::round.decimals(Tensor self, *, int decimals) -> Tensor',
  restrictedTo(
    'floating',
    'round',
    pointwiseWith<RoundArgs, GradsOf<RoundArgs>>(
      ({ self, decimals: places }) => {
        // Each step rounds to the dtype, as in PyTorch.
        const { dtype } = self;
        const power = roundTo(dtype, 10 ** Math.abs(places));
        if (places < 0)
          return (x) => roundTo(dtype, roundHalfEven(roundTo(dtype, x! / power))) * power;
        return (x) => roundHalfEven(roundTo(dtype, x! * power)) / power;
      },
      { operands: ['self'], vjp: zeroGradient },
    ),
  ),
);
const roundInplace = defineInplace(roundOp);
const roundDecimalsInplace = defineInplace(roundDecimalsOp);
const fracOp = defineOp(
  'aten::frac(Tensor self) -> Tensor',
  restrictedTo(
    'floating',
    'frac',
    unary((x) => x - Math.trunc(x), { vjp: (_args, { grad }) => ({ self: grad }) }),
  ),
);
const truncOp = defineOp(
  'aten::trunc(Tensor self) -> Tensor',
  restrictedTo(NUMBERS, 'trunc', unary(whole(Math.trunc), { vjp: zeroGradient })),
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
/** Rounded towards zero. */
export const trunc: Unary = unaryFunction(truncOp);
/** self = trunc(self) */
export const trunc_: Unary = unaryFunction(defineInplace(truncOp));
/** self - trunc(self) @throws dtype-unsupported for integers */
export const frac: Unary = unaryFunction(fracOp);
/** self = frac(self) */
export const frac_: Unary = unaryFunction(defineInplace(fracOp));

/** Options of `round`. */
export interface RoundOptions {
  /** Digits after the decimal point to keep; negative ones round before it. */
  readonly decimals?: number;
}
const ROUND: OptionNames<RoundOptions> = { decimals: true };

/** Rounded to the nearest integer or decimal, halves to even. @throws dtype-unsupported for decimals of integers */
export function round(self: Tensor, options: RoundOptions = {}): Tensor {
  checkOptionNames('round', options, ROUND);
  const { decimals } = options;
  return decimals === undefined
    ? callOp(roundOp, [self])
    : callOp(roundDecimalsOp, [self, decimals]);
}

/** self = round(self) */
export function round_(self: Tensor, options: RoundOptions = {}): Tensor {
  checkOptionNames('round_', options, ROUND);
  const { decimals } = options;
  return decimals === undefined
    ? callOp(roundInplace, [self])
    : callOp(roundDecimalsInplace, [self, decimals]);
}
