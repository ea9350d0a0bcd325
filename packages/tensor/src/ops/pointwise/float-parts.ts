/**
 * @file Signs, neighbours and parts of floating-point numbers, and replacing those that are not finite.
 */
import { type ScalarLike, type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, isFloatingPoint } from '../../dtype.js';
import { readNumbers, roundTo, writeNumbers } from '../../kernels/elements.js';
import {
  LARGEST_FINITE,
  copySign,
  nextAfterIn,
  signBit,
  splitFloat,
} from '../../kernels/float-parts.js';
import {
  operandsOf,
  pointwise,
  pointwiseMeta,
  pointwiseWith,
  scalarValue,
  unary,
} from '../../kernels/pointwise-kernel.js';
import { checkNumbers, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { signOf } from '../../kernels/special-functions.js';
import { defineInplace } from '../../op/inplace.js';
import {
  type Binary,
  type TensorBinary,
  type Unary,
  binaryFunction,
  binaryFunctionOf,
  unaryFunction,
} from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, TensorMeta } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { toDtype } from '../arrange/copy.js';
import { eq, isfinite, ne } from './comparison.js';
import { div } from './division.js';
import { exp2 } from './exponential.js';
import { zerosLike } from '../factory/like.js';
import { maskedFill } from './fill.js';
import { mul, mul_ } from './arithmetic.js';
import { checkTensors } from '../../check-tensors.js';

const copysignRecord: OpRecord<{ self: Tensor; other: Tensor | ScalarLike }, never> = pointwise(
  copySign,
  {
    name: 'copysign',
    result: 'float',
    saved: ['out'],
    savedFor: { self: ['self'] },
    vjp: ({ self }, { grad, out }) => ({
      self: () => mul(grad, maskedFill(div(out, self), eq(self, 0), 0)),
      other: () => zerosLike(grad),
    }),
  },
);
const copysignOp = defineOp(
  'aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor',
  copysignRecord,
);
const copysignScalarOp = defineOp(
  'aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor',
  copysignRecord,
);

const signbitOp = defineOp(
  'aten::signbit(Tensor self) -> Tensor',
  unary((x) => (signBit(x) ? 1 : 0), { result: 'bool' }),
);
const sgnOp = defineOp(
  'aten::sgn(Tensor self) -> Tensor',
  unary(signOf, { vjp: (_args, { grad }) => ({ self: () => zerosLike(grad) }) }),
);

const nextafterOp = defineOp(
  'aten::nextafter(Tensor self, Tensor other) -> Tensor',
  restrictedTo(
    'floating',
    'nextafter',
    pointwiseWith((args) => nextAfterIn(resultType(operandsOf(args, ['self', 'other']))), {
      name: 'nextafter',
      saved: ['self', 'other'],
      vjp: ({ self, other }, { grad }) => ({
        self: () => mul(grad, ne(self, other)),
        other: () => zerosLike(grad),
      }),
    }),
  ),
);

const frexpMeta = pointwiseMeta({ operands: ['self'] });
const frexpOp = defineOp(
  'aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)',
  restrictedTo('floating', 'frexp', {
    tags: ['pointwise'],
    meta: (args): TensorMeta[] => {
      const meta = frexpMeta(args);
      return [meta, { ...meta, dtype: 'int32' }];
    },
    kernel: ({ self }, [mantissa, exponent]) => {
      const parts = Array.from(readNumbers(self), splitFloat);
      writeNumbers(
        mantissa!,
        parts.map((part) => part.mantissa),
      );
      writeNumbers(
        exponent!,
        parts.map((part) => part.exponent),
      );
    },
    saved: ['out.1'],
    vjp: (_args, { grad, outs }) => ({ self: () => div(grad, exp2(outs[1]!)) }),
  }),
);

export const ldexpOp: OpOverload<Tensor> = defineOp(
  'aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor',
  {
    decompose: ({ self, other }) => ldexp(self, other),
  },
);
export const ldexpInplaceOp: OpOverload<Tensor> = defineOp(
  'aten::ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)',
  {
    decompose: ({ self, other }) => ldexp_(self, other),
  },
);

const nanToNumOp = defineOp(
  'aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor',
  pointwiseWith(
    ({ self, nan, posinf, neginf }) => {
      const { dtype } = self;
      const given = (value: ScalarLike | null | undefined, absent: number): number =>
        value === null || value === undefined ? absent : roundTo(dtype, scalarValue(value));
      if (DTYPES[dtype].category !== 'floating') return (x) => x!;
      const forNan = given(nan, 0);
      const high = given(posinf, LARGEST_FINITE[dtype]!);
      const low = given(neginf, -LARGEST_FINITE[dtype]!);
      return (x) => (Number.isNaN(x) ? forNan : x === Infinity ? high : x === -Infinity ? low : x!);
    },
    {
      operands: ['self'],
      saved: ['self'],
      vjp: ({ self }, { grad }) => ({ self: () => mul(grad, isfinite(self)) }),
    },
  ),
);
const nanToNumInplace = defineInplace(nanToNumOp);

/** What `nanToNum` puts in place of numbers that are not finite. */
export interface NanToNumOptions {
  /** For NaN; default 0. */
  readonly nan?: number | null;
  /** For +∞; default the largest finite number of the dtype. */
  readonly posinf?: number | null;
  /** For -∞; default the lowest finite number of the dtype. */
  readonly neginf?: number | null;
}
const NAN_TO_NUM: OptionNames<NanToNumOptions> = { nan: true, posinf: true, neginf: true };

/** self with NaN and infinities replaced. */
export function nanToNum(self: Tensor, options: NanToNumOptions = {}): Tensor {
  checkOptionNames('nanToNum', options, NAN_TO_NUM);
  const { nan = null, posinf = null, neginf = null } = options;
  return callOp(nanToNumOp, [self, nan, posinf, neginf]);
}

/** self = nanToNum(self) */
export function nanToNum_(self: Tensor, options: NanToNumOptions = {}): Tensor {
  checkOptionNames('nanToNum_', options, NAN_TO_NUM);
  const { nan = null, posinf = null, neginf = null } = options;
  return callOp(nanToNumInplace, [self, nan, posinf, neginf]);
}

/** |self| with the sign of other. @throws shape-mismatch */
export const copysign: Binary = binaryFunctionOf(copysignOp, copysignScalarOp);
/** self = copysign(self, other) */
export const copysign_: Binary = binaryFunctionOf(
  defineInplace(copysignOp),
  defineInplace(copysignScalarOp),
);
/** Where the sign bit is set, also of -0. */
export const signbit: Unary = unaryFunction(signbitOp);
/** -1, 0 or 1; the complex sign of complex numbers. */
export const sgn: Unary = unaryFunction(sgnOp);
/** self = sgn(self) */
export const sgn_: Unary = unaryFunction(defineInplace(sgnOp));
/** The next representable number after self towards other. @throws shape-mismatch, dtype-unsupported */
export const nextafter: TensorBinary = binaryFunction(nextafterOp);
/** self = nextafter(self, other) */
export const nextafter_: TensorBinary = binaryFunction(defineInplace(nextafterOp));

/** `[mantissa, exponent]` with self = mantissa · 2^exponent and 0.5 ≤ |mantissa| < 1. @throws dtype-unsupported */
export function frexp(self: Tensor): [mantissa: Tensor, exponent: Tensor] {
  return callOp(frexpOp, [self]);
}

/** 2^other for a product with `self`, which may be of 16 bits where the power does not fit. @throws dtype-unsupported */
function powerFor(self: Tensor, other: Tensor): Tensor {
  checkTensors('ldexp', { self, other });
  if (!isFloatingPoint(self.dtype) || isFloatingPoint(other.dtype)) return exp2(other);
  checkNumbers('ldexp_cpu_exp', other);
  return exp2(toDtype(other, self.dtype === 'float64' ? 'float64' : 'float32'));
}

/** self · 2^other; integers beside floats leave their type. @throws dtype-unsupported */
export function ldexp(self: Tensor, other: Tensor): Tensor {
  const product = mul(self, powerFor(self, other));
  return isFloatingPoint(other.dtype) || !isFloatingPoint(self.dtype)
    ? product
    : toDtype(product, self.dtype);
}

/** self = ldexp(self, other) */
export function ldexp_(self: Tensor, other: Tensor): Tensor {
  return mul_(self, powerFor(self, other));
}
