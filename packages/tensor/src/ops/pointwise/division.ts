/**
 * @file Division, true and rounded, and remainders.
 */
import { roundTo } from '../../kernels/elements.js';
import { type OptionNames, type ScalarLike, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint, opmathType } from '../../dtype.js';
import { floorQuotient, floorRemainder } from '../../kernels/special-functions.js';
import { operandsOf, pointwise, pointwiseWith } from '../../kernels/pointwise-kernel.js';
import { NUMBERS, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { valueError } from '../../kernels/value-check.js';
import { defineInplace } from '../../op/inplace.js';
import { type Binary, binaryFunction, binaryFunctionOf } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { defineScalarOverload } from '../../op/scalar-overload.js';
import type { NamedArgs, OpRecord } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { isTensor } from '../../tensor-factory.js';
import { resultType } from '../../type-promotion.js';
import { zerosLike } from '../factory/like.js';
import { mul, neg } from './arithmetic.js';

/** How a quotient is rounded: towards zero, or down. */
export type RoundingMode = 'trunc' | 'floor';

type Arithmetic = (a: number, b: number) => number;

/** Refuses integer division by zero. @throws invalid-argument */
function checked(name: string, args: NamedArgs, fn: Arithmetic): Arithmetic {
  if (isFloatingPoint(resultType(operandsOf(args, ['self', 'other'])))) return fn;
  return (a, b) => {
    if (!b) throw valueError({ rule: 'divisor', op: name }, b);
    return fn(a, b);
  };
}

const divOp = defineOp(
  'aten::div.Tensor(Tensor self, Tensor other) -> Tensor',
  pointwise((a, b) => a / b, {
    name: 'div',
    result: 'float',
    wideNumbers: true,
    savedFor: { self: ['other'], other: ['self', 'other'] },
    vjp: ({ self, other }, { grad }) => ({
      self: () => div(grad, other),
      other: () => neg(mul(grad, div(div(self, other), other))),
    }),
  }),
);
const divInplace = defineInplace(divOp);
export const divScalarOp: OpOverload<Tensor> = defineScalarOverload('div', divOp, divInplace);

function quotientFunction(args: NamedArgs): Arithmetic {
  if (args.rounding_mode === 'floor') return checked('div', args, floorQuotient);
  const dtype = resultType(operandsOf(args, ['self', 'other']));
  // PyTorch cuts the quotient after it was rounded, to 16 bits if the divisor has dimensions.
  const { other } = args;
  const quotientType = isTensor(other) && other.sizes.length > 0 ? dtype : opmathType(dtype);
  const cut = isFloatingPoint(dtype)
    ? (a: number, b: number) => Math.trunc(roundTo(quotientType, a / b))
    : (a: number, b: number) => (a - (a % b)) / b;
  return checked('div', args, cut);
}

const roundedDivOp = defineOp(
  'aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor',
  {
    ...pointwiseWith(
      (args) => (args.rounding_mode === null ? (a, b) => a / b : quotientFunction(args)),
      {
        name: 'div',
        wideNumbers: true,
        saved: ['self', 'other'],
        vjp: ({ self, other, rounding_mode }, { grad }) =>
          rounding_mode === null
            ? {
                self: () => div(grad, other),
                other: () => neg(mul(grad, div(div(self, other), other))),
              }
            : { self: () => zerosLike(grad), other: () => zerosLike(grad) },
      },
    ),
    meta: (args) => {
      const { rounding_mode: mode } = args;
      if (mode !== null && mode !== 'floor' && mode !== 'trunc')
        throw new TesseraError('invalid-argument', `div: no rounding is called '${mode}'.`, {
          hints: ["It is 'floor', 'trunc' or null."],
        });
      const rule = mode === null ? 'float' : 'promote';
      return pointwiseWith(() => () => 0, { name: 'div', result: rule }).meta!(args);
    },
  },
);
export const roundedDivScalarOp: OpOverload<Tensor> = defineOp(
  'aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor',
  {
    decompose: ({ self, other, rounding_mode }) =>
      callOp(roundedDivOp, [self, other, rounding_mode]),
  },
);
const roundedDivInplace = defineInplace(roundedDivOp);

const floorDivideOp = defineOp(
  'aten::floor_divide(Tensor self, Tensor other) -> Tensor',
  restrictedTo(
    NUMBERS,
    'floor_divide',
    pointwiseWith((args) => checked('floor_divide', args, floorQuotient), {
      name: 'floor_divide',
      wideNumbers: true,
    }),
  ),
);
const floorDivideInplace = defineInplace(floorDivideOp, 'Tensor');

interface Remainder {
  readonly fn: Binary;
  readonly inplace: Binary;
}

/** self - other · quotient(self / other). */
function defineRemainder(name: string, fn: Arithmetic, mode: RoundingMode): Remainder {
  const record: OpRecord<{ self: Tensor; other: Tensor | ScalarLike }, never> = restrictedTo(
    NUMBERS,
    name,
    pointwiseWith((args) => checked(name, args, fn), {
      name,
      savedFor: { other: ['self', 'other'] },
      vjp: ({ self, other }, { grad }) => ({
        self: grad,
        other: () => neg(mul(grad, div(self, other, { roundingMode: mode }))),
      }),
    }),
  );
  const tensor: OpOverload<Tensor> = defineOp(
    `aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`,
    record,
  );
  const scalar: OpOverload<Tensor> = defineOp(
    `aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`,
    record,
  );
  return {
    fn: binaryFunctionOf(tensor, scalar),
    inplace: binaryFunctionOf(defineInplace(tensor), defineInplace(scalar)),
  };
}

const python = defineRemainder('remainder', floorRemainder, 'floor');
const c = defineRemainder('fmod', (a, b) => a % b, 'trunc');

const trueDivideOp = defineOp('aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor', {
  decompose: ({ self, other }) => callOp(divOp, [self, other]),
});
const trueDivideInplace = defineOp(
  'aten::true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)',
  { decompose: ({ self, other }) => callOp(divInplace, [self, other]) },
);
export const trueDivideScalarOp: OpOverload<Tensor> = defineScalarOverload(
  'true_divide',
  divOp,
  divInplace,
);

/** Options of `div`. */
export interface DivOptions {
  /** Rounds the quotient; integers stay integers. */
  readonly roundingMode?: RoundingMode | null;
}
const DIV: OptionNames<DivOptions> = { roundingMode: true };

/** self / other; true division (integers give floats) unless rounded. @throws shape-mismatch, invalid-argument for rounded integer division by zero */
export function div(self: Tensor, other: Tensor | ScalarLike, options?: DivOptions): Tensor {
  checkOptionNames('div', options, DIV);
  const mode = options?.roundingMode ?? null;
  return mode === null ? callOp(divOp, [self, other]) : callOp(roundedDivOp, [self, other, mode]);
}

/** self /= other */
export function div_(self: Tensor, other: Tensor | ScalarLike, options?: DivOptions): Tensor {
  checkOptionNames('div_', options, DIV);
  const mode = options?.roundingMode ?? null;
  return mode === null
    ? callOp(divInplace, [self, other])
    : callOp(roundedDivInplace, [self, other, mode]);
}

/** self / other without rounding; integers give floats. @throws shape-mismatch */
export const trueDivide: Binary = binaryFunction(trueDivideOp);
/** self /= other */
export const trueDivide_: Binary = binaryFunction(trueDivideInplace);
/** self / other rounded down, as Python's `//`. */
export const floorDivide: Binary = binaryFunction(floorDivideOp);
/** self //= other */
export const floorDivide_: Binary = binaryFunction(floorDivideInplace);
/** Remainder with the sign of the divisor, as Python's `%`. */
export const remainder: Binary = python.fn;
/** self %= other */
export const remainder_: Binary = python.inplace;
/** Remainder with the sign of the dividend, as C's `fmod`. */
export const fmod: Binary = c.fn;
/** self = fmod(self, other) */
export const fmod_: Binary = c.inplace;
