/**
 * @file Operators of integers: shifts, divisors and multiples.
 */
import { itemSize, type DType } from '../../dtype.js';
import { commonDivisor, isBig, leastCommonMultiple } from '../../kernels/integer-arithmetic.js';
import { operandsOf, pointwise, pointwiseWith } from '../../kernels/pointwise-kernel.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import {
  type Binary,
  type TensorBinary,
  binaryFunction,
  binaryFunctionOf,
} from '../../op/op-functions.js';
import { defineOp } from '../../op/op-overload.js';
import type { NamedArgs, OpRecord } from '../../op/op-record.js';
import { resultType } from '../../type-promotion.js';

type ShiftOf = (dtype: DType) => (a: number, by: number) => number;

function typeOf(args: NamedArgs): DType {
  return resultType(operandsOf(args, ['self', 'other']));
}

/** Shifts of 64 bits; those by negative counts or the whole width leave no bits, or the sign. */
function shifting(move: (a: number, by: number) => number, rest: (a: number) => number): ShiftOf {
  return (dtype) => (a, by) => {
    if (by < 0 || by >= itemSize(dtype) * 8) return rest(a);
    return isBig(a) ? move(a, by) : NaN;
  };
}

const left = shifting(
  (a, by) => a << by,
  () => 0,
);
const right = shifting(
  (a, by) => a >> by,
  (a) => (a < 0 ? -1 : 0),
);

interface Shift {
  readonly fn: Binary;
  readonly inplace: Binary;
}

function shift(name: string, fn: ShiftOf): Shift {
  const record: OpRecord<NamedArgs, never> = restrictedTo(
    'integral',
    name,
    pointwiseWith((args) => fn(typeOf(args)), { name }),
  );
  const tensor = defineOp(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, record);
  const scalar = defineOp(
    `aten::${name}.Tensor_Scalar(Tensor self, Scalar other) -> Tensor`,
    record,
  );
  defineOp(`aten::${name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor`, record);
  return {
    fn: binaryFunctionOf(tensor, scalar),
    inplace: binaryFunctionOf(defineInplace(tensor), defineInplace(scalar)),
  };
}

const leftShift = shift('bitwise_left_shift', left);
const rightShift = shift('bitwise_right_shift', right);

const gcdOp = defineOp(
  'aten::gcd(Tensor self, Tensor other) -> Tensor',
  restrictedTo('integral', 'gcd', pointwise(commonDivisor, { name: 'gcd' })),
);
const lcmOp = defineOp(
  'aten::lcm(Tensor self, Tensor other) -> Tensor',
  restrictedTo(
    'integral',
    'lcm',
    pointwiseWith((args) => leastCommonMultiple(typeOf(args)), { name: 'lcm' }),
  ),
);

/** Bits moved to the left. @throws dtype-unsupported, shape-mismatch */
export const bitwiseLeftShift: Binary = leftShift.fn;
/** self <<= other */
export const bitwiseLeftShift_: Binary = leftShift.inplace;
/** Bits moved to the right; the sign fills. @throws dtype-unsupported, shape-mismatch */
export const bitwiseRightShift: Binary = rightShift.fn;
/** self >>= other */
export const bitwiseRightShift_: Binary = rightShift.inplace;
/** Greatest common divisor. @throws dtype-unsupported, shape-mismatch */
export const gcd: TensorBinary = binaryFunction(gcdOp);
/** self = gcd(self, other) */
export const gcd_: TensorBinary = binaryFunction(defineInplace(gcdOp));
/** Least common multiple. @throws dtype-unsupported, shape-mismatch */
export const lcm: TensorBinary = binaryFunction(lcmOp);
/** self = lcm(self, other) */
export const lcm_: TensorBinary = binaryFunction(defineInplace(lcmOp));
