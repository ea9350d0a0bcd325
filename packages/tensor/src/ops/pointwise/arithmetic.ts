/**
 * @file Arithmetic on elements: add, sub, mul, neg.
 *
 * Each op is its record and the function that people call; methods on Tensor follow from the
 * functions. Numbers may stand for the second operand and are promoted as PyTorch's wrapped numbers;
 * the `.Scalar` overloads exist for graphs that name them and decompose into the same ops.
 */
import { type ScalarLike, type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { refuseBools } from '../../kernels/refuse-bools.js';
import { checkFactor } from '../../kernels/factor.js';
import { roundTo } from '../../kernels/elements.js';
import { productIn } from '../../kernels/integer-arithmetic.js';
import {
  type OneResultRecord,
  operandsOf,
  pointwise,
  pointwiseWith,
  scalarValue,
  unary,
} from '../../kernels/pointwise-kernel.js';
import { NUMBERS, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import { type Binary, type Unary, binaryFunction, unaryFunction } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { defineScalarOverload } from '../../op/scalar-overload.js';
import { resultType } from '../../type-promotion.js';
import type { Tensor } from '../../tensor.js';

type AlphaArgs = { self: Tensor; other: Tensor | ScalarLike; alpha: ScalarLike };

/** alpha · other as PyTorch's loop over elements has it: 16-bit floats are rounded before they are added. */
function scaledOther(args: AlphaArgs): (b: number) => number {
  const dtype = resultType(operandsOf(args, ['self', 'other']));
  const alpha = roundTo(dtype, scalarValue(args.alpha));
  if (alpha === 1) return (b) => b;
  const times = productIn(dtype);
  return dtype === 'float16' || dtype === 'bfloat16'
    ? (b) => roundTo(dtype, alpha * b)
    : (b) => times(alpha, b);
}

/** @throws dtype-mismatch for an alpha that the result cannot hold */
function checkingAlpha(record: OneResultRecord<AlphaArgs>): OneResultRecord<AlphaArgs> {
  return {
    ...record,
    meta: (args) => {
      const meta = record.meta(args);
      checkFactor('alpha', args.alpha, meta.dtype);
      return meta;
    },
  };
}

const addOp = defineOp(
  'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor',
  checkingAlpha(
    pointwiseWith(
      (args) => {
        const scale = scaledOther(args);
        return (a, b) => a + scale(b);
      },
      {
        name: 'add',
        vjp: ({ alpha }, { grad }) => ({
          self: grad,
          other: () => scaled(grad, alpha),
        }),
      },
    ),
  ),
);
const addInplace = defineInplace(addOp);

const subRecord = checkingAlpha(
  pointwiseWith(
    (args) => {
      const scale = scaledOther(args);
      return (a, b) => a - scale(b);
    },
    {
      name: 'sub',
      vjp: ({ alpha }, { grad }) => ({
        self: grad,
        other: () => neg(scaled(grad, alpha)),
      }),
    },
  ),
);
const subOp = defineOp('aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor', {
  ...subRecord,
  meta: (args) => {
    refuseBools(args.self, args.other);
    return subRecord.meta!(args);
  },
});
const subInplace = defineInplace(subOp);

const mulOp = defineOp(
  'aten::mul.Tensor(Tensor self, Tensor other) -> Tensor',
  pointwise((a, b) => a * b, {
    name: 'mul',
    wideNumbers: true,
    savedFor: { self: ['other'], other: ['self'] },
    vjp: ({ self, other }, { grad }) => ({
      self: () => mul(grad, other),
      other: () => mul(grad, self),
    }),
  }),
);
const mulInplace = defineInplace(mulOp);

const negOp = defineOp(
  'aten::neg(Tensor self) -> Tensor',
  restrictedTo(
    NUMBERS,
    'neg',
    unary((a) => -a, { vjp: (_args, { grad }) => ({ self: () => neg(grad) }) }),
  ),
);
const negInplace = defineInplace(negOp);

export const addScalarOp: OpOverload<Tensor> = defineScalarOverload(
  'add',
  addOp,
  addInplace,
  ', Scalar alpha=1',
);
export const subScalarOp: OpOverload<Tensor> = defineScalarOverload(
  'sub',
  subOp,
  subInplace,
  ', Scalar alpha=1',
);
export const mulScalarOp: OpOverload<Tensor> = defineScalarOverload('mul', mulOp, mulInplace);
function scaled(grad: Tensor, alpha: ScalarLike): Tensor {
  return alpha === 1 ? grad : callOp(mulOp, [grad, alpha]);
}

const ALPHA: OptionNames<{ alpha?: ScalarLike }> = { alpha: true };

/** self + alpha · other, broadcasting. @throws shape-mismatch @see torch.add */
export function add(
  self: Tensor,
  other: Tensor | ScalarLike,
  options?: { alpha?: ScalarLike },
): Tensor {
  checkOptionNames('add', options, ALPHA);
  return callOp(addOp, [self, other, options?.alpha ?? 1]);
}

/** self += alpha · other. */
export function add_(
  self: Tensor,
  other: Tensor | ScalarLike,
  options?: { alpha?: ScalarLike },
): Tensor {
  checkOptionNames('add_', options, ALPHA);
  return callOp(addInplace, [self, other, options?.alpha ?? 1]);
}

/** self - alpha · other, broadcasting. @throws shape-mismatch */
export function sub(
  self: Tensor,
  other: Tensor | ScalarLike,
  options?: { alpha?: ScalarLike },
): Tensor {
  checkOptionNames('sub', options, ALPHA);
  return callOp(subOp, [self, other, options?.alpha ?? 1]);
}

/** self -= alpha · other. */
export function sub_(
  self: Tensor,
  other: Tensor | ScalarLike,
  options?: { alpha?: ScalarLike },
): Tensor {
  checkOptionNames('sub_', options, ALPHA);
  return callOp(subInplace, [self, other, options?.alpha ?? 1]);
}

/** self · other, broadcasting. @throws shape-mismatch */
export const mul: Binary = binaryFunction(mulOp);
/** self *= other. */
export const mul_: Binary = binaryFunction(mulInplace);

/** -self */
export const neg: Unary = unaryFunction(negOp);
/** self = -self */
export const neg_: Unary = unaryFunction(negInplace);
