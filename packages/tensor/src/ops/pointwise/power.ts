/**
 * @file Powers.
 */
import { isSymScalar, type SymScalar, TesseraError, type ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES } from '../../dtype.js';
import { wholePower } from '../../kernels/integer-arithmetic.js';
import {
  type OneResultRecord,
  fixedScalar,
  operandsOf,
  pointwiseWith,
} from '../../kernels/pointwise-kernel.js';
import { NUMBERS, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { NamedArgs } from '../../op/op-record.js';
import { contiguousStrides } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { eq, ge, isfinite } from './comparison.js';
import { clone, toDtype } from '../arrange/copy.js';
import { log } from './exponential.js';
import { scalarTensor } from '../factory/factory.js';
import { onesLike, zerosLike } from '../factory/like.js';
import { logicalAnd } from './logical.js';
import { add, mul, sub } from './arithmetic.js';
import { where } from './where.js';

const OPERANDS = { operands: ['self', 'exponent'], name: 'pow' };

/** C's pow: 1 to any power is 1, and -1 to an infinite one. */
function power(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && Math.abs(exponent) === Infinity)) return 1;
  return base ** exponent;
}

function powerFunction(args: NamedArgs): (base: number, exponent: number) => number {
  const dtype = resultType(operandsOf(args, OPERANDS.operands));
  return DTYPES[dtype].category === 'floating' ? power : wholePower;
}

/** Powers by one exponent: of ±½ a square root, which unlike C's pow has the sign of -0, and none of -∞. */
function fixedPowerFunction(args: NamedArgs): (base: number, exponent: number) => number {
  const general = powerFunction(args);
  return (base, exponent) => {
    if (exponent === 0.5) return Math.sqrt(base);
    return exponent === -0.5 ? 1 / Math.sqrt(base) : general(base, exponent);
  };
}

/** A power of numbers; of whole numbers, the exponent is known and not negative. */
function defined<Args extends { self: Power; exponent: Power }>(
  record: OneResultRecord<Args>,
): OneResultRecord<Args> {
  const numeric = restrictedTo(NUMBERS, 'pow', record);
  return {
    ...numeric,
    meta: (args) => {
      const meta = numeric.meta(args);
      const { self, exponent } = args;
      // Row by row in memory, however the exponent lies: so PyTorch gives powers of a number.
      if (!isTensor(self)) return { ...meta, strides: contiguousStrides(meta.sizes) };
      if (DTYPES[meta.dtype].category === 'integral' && !isTensor(exponent)) {
        if (fixedScalar(exponent) < 0)
          throw new TesseraError(
            'invalid-argument',
            'pow: Integers to negative integer powers are not allowed.',
            { hints: ["Convert the base first: x.to('float32')."] },
          );
      }
      return meta;
    },
  };
}

const powScalarOp = defineOp(
  'aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor',
  defined(
    pointwiseWith(fixedPowerFunction, {
      ...OPERANDS,
      saved: ['self'],
      vjp: ({ self, exponent }, { grad }) => ({
        self: () => powerGradient(grad, self, exponent),
      }),
    }),
  ),
);
const powTensorOp = defineOp(
  'aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor',
  defined(
    pointwiseWith(powerFunction, {
      ...OPERANDS,
      saved: ['self', 'exponent', 'out'],
      vjp: ({ self, exponent }, { grad, out }) => ({
        self: () =>
          where(eq(exponent, 0), 0, mul(grad, mul(exponent, pow(self, add(exponent, -1))))),
        exponent: () =>
          mul(grad, where(logicalAnd(eq(self, 0), ge(exponent, 0)), 0, mul(out, log(self)))),
      }),
    }),
  ),
);
const powBaseOp = defineOp(
  'aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor',
  defined(
    pointwiseWith(powerFunction, {
      ...OPERANDS,
      saved: ['out'],
      vjp: ({ self }, { grad, out }) => ({
        exponent: () => baseGradient(grad, self, out),
      }),
    }),
  ),
);
const powScalarInplace = defineInplace(powScalarOp, 'Scalar');
const powTensorInplace = defineInplace(powTensorOp, 'Tensor');

const squareOp = defineOp('aten::square(Tensor self) -> Tensor', {
  decompose: ({ self }) => pow(self, 2),
});
const squareInplaceOp = defineOp('aten::square_(Tensor(a!) self) -> Tensor(a!)', {
  decompose: ({ self }) => pow_(self, 2),
});

type Power = Tensor | ScalarLike;

/** Powers in double precision, whatever the operands are. */
function doublePower(self: Power, exponent: Power): Tensor {
  const double = (x: Power): Power => (isTensor(x) ? toDtype(x, 'float64') : x);
  return pow(double(self), double(exponent));
}

function defineFloatPower(
  overload: string,
  args: `Tensor self, ${'Tensor' | 'Scalar'} exponent` | 'Scalar self, Tensor exponent',
): OpOverload<Tensor> {
  return defineOp(`aten::float_power.${overload}(${args}) -> Tensor`, {
    decompose: ({ self, exponent }) => doublePower(self, exponent),
  });
}

const floatPowerOps = {
  both: defineFloatPower('Tensor_Tensor', 'Tensor self, Tensor exponent'),
  exponent: defineFloatPower('Tensor_Scalar', 'Tensor self, Scalar exponent'),
  base: defineFloatPower('Scalar', 'Scalar self, Tensor exponent'),
};

function defineFloatPowerInplace(overload: string, type: 'Tensor' | 'Scalar'): OpOverload<Tensor> {
  return defineOp(
    `aten::float_power_.${overload}(Tensor(a!) self, ${type} exponent) -> Tensor(a!)`,
    {
      decompose: ({ self, exponent }) => {
        if (self.dtype !== 'float64') {
          throw new TesseraError(
            'dtype-mismatch',
            `the base given to float_power_ has dtype ${self.dtype} but the operation's result requires dtype float64`,
            { hints: ['Use floatPower.'] },
          );
        }
        return pow_(self, isTensor(exponent) ? toDtype(exponent, 'float64') : exponent);
      },
    },
  );
}

const floatPowerInplaceOps = {
  tensor: defineFloatPowerInplace('Tensor', 'Tensor'),
  scalar: defineFloatPowerInplace('Scalar', 'Scalar'),
};

/** A number known only at run time, to compute with beside `like`, whose dtype it does not change. */
function runtimeNumber(value: SymScalar, { dtype, device }: Tensor): Tensor {
  return scalarTensor(value, { dtype: dtype === 'float64' ? dtype : 'float32', device });
}

/**
 * The gradient of the exponent of a number to a power.
 *
 * A number known only at run time and one known before give gradients of the same strides, as one graph runs
 * for every value of the first. Powers of 0 are finite where the exponent is not negative.
 */
function baseGradient(grad: Tensor, base: ScalarLike, out: Tensor): Tensor {
  if (isSymScalar(base)) {
    const value = runtimeNumber(base, out);
    const unreached = logicalAnd(eq(value, 0), isfinite(out));
    return mul(grad, where(unreached, 0, mul(out, log(value))));
  }
  const slope = mul(out, Math.log(Number(base)));
  return mul(grad, Number(base) === 0 ? where(isfinite(out), 0, slope) : slope);
}

/** The gradient of the base of a power; its strides are the same for every exponent, as `baseGradient`'s. */
function powerGradient(grad: Tensor, self: Tensor, exponent: ScalarLike): Tensor {
  if (isSymScalar(exponent)) {
    const value = runtimeNumber(exponent, self);
    return where(eq(value, 0), 0, mul(grad, mul(pow(self, sub(value, 1)), value)));
  }
  const e = Number(exponent);
  if (e === 0) return zerosLike(mul(grad, self));
  return mul(grad, mul(e === 2 ? self : pow(self, e - 1), e));
}

/** self ** exponent, either may be a number (but not both). @throws shape-mismatch, invalid-argument */
export function pow(self: Tensor | ScalarLike, exponent: Tensor | ScalarLike): Tensor {
  // A power that is a truth value keeps bools, as nothing else does.
  if (typeof exponent === 'boolean' && isTensor(self) && self.dtype === 'bool')
    return exponent ? clone(self) : onesLike(self);
  const op = isTensor(self) ? (isTensor(exponent) ? powTensorOp : powScalarOp) : powBaseOp;
  return callOp(op, [self, exponent]);
}

/** self **= exponent */
export function pow_(self: Tensor, exponent: Tensor | ScalarLike): Tensor {
  return callOp(isTensor(exponent) ? powTensorInplace : powScalarInplace, [self, exponent]);
}

/** self ** exponent in double precision; either may be a number (but not both). @throws shape-mismatch */
export function floatPower(self: Tensor | ScalarLike, exponent: Tensor | ScalarLike): Tensor {
  const { both, exponent: numberExponent, base } = floatPowerOps;
  const op = isTensor(self) ? (isTensor(exponent) ? both : numberExponent) : base;
  return callOp(op, [self, exponent]);
}

/** self **= exponent, for double precision only. @throws dtype-mismatch */
export function floatPower_(self: Tensor, exponent: Tensor | ScalarLike): Tensor {
  const { tensor, scalar } = floatPowerInplaceOps;
  return callOp(isTensor(exponent) ? tensor : scalar, [self, exponent]);
}

/** self² */
export const square: Unary = unaryFunction(squareOp);
/** self = self² */
export const square_: Unary = unaryFunction(squareInplaceOp);
