/**
 * @file What each `ScalarOp` means, in plain JavaScript numbers.
 *
 * The constant folder of `build.ts` and the interpreter share these definitions; backends must agree
 * with them up to rounding of transcendentals. Numbers hold every dtype: float32 and narrower floats
 * are rounded to f32 after each operation, int64 is exact to 2^53 and wraps at 64 bits beyond, other
 * integers wrap at 32 bits. Integer division and remainder by zero give 0 (kernels must not trap);
 * shifts by negative counts are as shifts by the whole width.
 */
import { gcd } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import {
  bfloatToNumber,
  erf,
  floorQuotient,
  floorRemainder,
  halfToNumber,
  nextAfterIn,
  numberToBfloat,
  numberToHalf,
  roundHalfEven,
  roundTo,
  wholePower,
  wholly,
} from '@tessera/tensor/internal';
import type { ScalarOp } from './expr.js';
import { highest } from './integer-ranges.js';

/** Whether values of a dtype are floats. */
export function isFloat(dtype: DType): boolean {
  return dtype === 'float32' || dtype === 'float64' || dtype === 'float16' || dtype === 'bfloat16';
}

/** Whether values of a dtype are floats of 16 bits. */
export function isHalf(dtype: DType): boolean {
  return dtype === 'float16' || dtype === 'bfloat16';
}

/** Wraps an integer to 64 bits; the identity on safe integers. */
function wrap64(value: number): number {
  return Number.isSafeInteger(value) || !Number.isFinite(value)
    ? value
    : Number(BigInt.asIntN(64, BigInt(value)));
}

/** Brings a number into the range and precision in which `dtype` computes. */
export function toComputeType(value: number, dtype: DType): number {
  switch (dtype) {
    case 'float64':
      return value;
    case 'float32':
    case 'float16':
    case 'bfloat16':
      return Math.fround(value);
    case 'bool':
      return value !== 0 ? 1 : 0;
    case 'int64':
      return wrap64(Math.trunc(value)) + 0;
    default:
      return value | 0;
  }
}

/** A number rounded to the precision of a 16-bit float type; others keep theirs. */
export function roundToHalf(value: number, dtype: DType): number {
  if (dtype === 'float16') return halfToNumber(numberToHalf(value));
  return dtype === 'bfloat16' ? bfloatToNumber(numberToBfloat(value)) : value;
}

/** The constant of a type that a number stands for; 2⁶³ stands for the largest int64 (`integer-ranges.ts`). */
export function constantOf(dtype: DType, value: number): number {
  if (isFloat(dtype)) return toComputeType(value, dtype);
  return dtype === 'int64' && value === highest(dtype)
    ? value
    : castScalar(value, 'float64', dtype);
}

/** Conversion of `value` (of type `from`) to `to`, rounding to 16-bit floats and wrapping narrow integers. */
export function castScalar(value: number, from: DType, to: DType): number {
  if (isFloat(to)) return roundToHalf(toComputeType(value, to), to);
  if (to === 'bool') return value !== 0 ? 1 : 0;
  const whole = isFloat(from) ? (Number.isNaN(value) ? 0 : Math.trunc(value)) : value;
  switch (to) {
    case 'int64':
      return Number.isFinite(whole) ? wrap64(whole) + 0 : whole > 0 ? 2 ** 63 : -(2 ** 63);
    case 'int32':
      return Number.isSafeInteger(whole)
        ? whole | 0
        : Number(BigInt.asIntN(32, BigInt(Number.isFinite(whole) ? whole : 0)));
    case 'int16':
      return (whole << 16) >> 16;
    case 'int8':
      return (whole << 24) >> 24;
    default:
      return whole & 0xff;
  }
}

const longProduct = wholly((a, b) => a * b);
const integerPower = wholly(wholePower);

/** NaN-propagating extreme. */
export function extreme(a: number, b: number, larger: boolean): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return NaN;
  return larger ? Math.max(a, b) : Math.min(a, b);
}

function bitwise(
  op: 'and' | 'or' | 'xor' | 'shl' | 'shr',
  dtype: DType,
  a: number,
  b: number,
): number {
  if (dtype === 'int64' && (!fits32(a) || !fits32(b) || op === 'shl')) {
    const isShift = op === 'shl' || op === 'shr';
    const x = BigInt(a);
    const y = BigInt(isShift && (b < 0 || b > 64) ? 64 : b);
    const r =
      op === 'and'
        ? x & y
        : op === 'or'
          ? x | y
          : op === 'xor'
            ? x ^ y
            : op === 'shl'
              ? x << y
              : x >> y;
    return Number(BigInt.asIntN(64, r));
  }
  switch (op) {
    case 'and':
      return a & b;
    case 'or':
      return a | b;
    case 'xor':
      return a ^ b;
    case 'shl':
      return b < 0 || b > 31 ? 0 : a << b;
    case 'shr':
      return a >> (b < 0 ? 31 : Math.min(b, 31));
  }
}

function fits32(value: number): boolean {
  return (value | 0) === value;
}

/**
 * Result of one operation.
 *
 * @param dtype type of the result
 * @param operand type of the first operand (of the second for `where`)
 */
export function evalScalar(
  op: ScalarOp,
  dtype: DType,
  operand: DType,
  a: number,
  b: number,
  c: number,
): number {
  const float = isFloat(operand);
  switch (op) {
    case 'add':
      return toComputeType(a + b, dtype);
    case 'sub':
      return toComputeType(a - b, dtype);
    case 'mul':
      return dtype === 'int64'
        ? Number(longProduct(a, b))
        : float
          ? toComputeType(a * b, dtype)
          : toComputeType(Math.imul(a, b), dtype);
    case 'div':
      return toComputeType(a / b, dtype);
    case 'floordiv':
      return float || b !== 0 ? toComputeType(floorQuotient(a, b), dtype) : 0;
    case 'truncdiv':
      // The quotient is rounded first.
      if (float) return Math.trunc(toComputeType(a / b, dtype));
      return b === 0 ? 0 : toComputeType(Math.trunc(a / b), dtype);
    case 'remainder':
      return float || b !== 0 ? toComputeType(floorRemainder(a, b), dtype) : 0;
    case 'fmod':
      return float || b !== 0 ? toComputeType(a % b, dtype) : 0;
    case 'neg':
      return toComputeType(float ? -a : 0 - a, dtype);
    case 'sign':
      return Number(a > 0) - Number(a < 0);
    case 'reciprocal':
      return toComputeType(1 / a, dtype);
    case 'square':
      return dtype === 'int64'
        ? Number(longProduct(a, a))
        : float
          ? toComputeType(a * a, dtype)
          : Math.imul(a, a);
    case 'maximum':
      return extreme(a, b, true);
    case 'minimum':
      return extreme(a, b, false);
    case 'fma':
      return toComputeType(a * b + c, dtype);
    case 'gcd':
      return gcd(a, b);
    case 'copysign':
      return isNegative(b) === isNegative(a) ? a : -a;
    case 'nextafter':
      return nextAfterIn(dtype === 'float64' ? dtype : 'float32')(a, b);
    case 'round':
      return roundHalfEven(a);
    case 'rsqrt':
      return toComputeType(1 / Math.sqrt(a), dtype);
    case 'exp2':
      return toComputeType(2 ** a, dtype);
    case 'pow':
      return float
        ? toComputeType(
            a === 1 || b === 0 || (a === -1 && !Number.isFinite(b) && !Number.isNaN(b))
              ? 1
              : a ** b,
            dtype,
          )
        : Number(roundTo(dtype, integerPower(a, b)));
    case 'atan2':
      return toComputeType(Math.atan2(a, b), dtype);
    case 'sigmoid':
      return toComputeType(1 / (1 + Math.exp(-a)), dtype);
    case 'erf':
      return toComputeType(erf(a), dtype);
    case 'eq':
      return Number(a === b);
    case 'ne':
      return Number(a !== b);
    case 'within':
      return Number(a >= 0 && a < b);
    case 'lt':
      return Number(a < b);
    case 'le':
      return Number(a <= b);
    case 'gt':
      return Number(a > b);
    case 'ge':
      return Number(a >= b);
    case 'isnan':
      return Number(Number.isNaN(a));
    case 'isinf':
      return Number(Math.abs(a) === Infinity);
    case 'and':
    case 'or':
    case 'xor':
    case 'shl':
    case 'shr':
      return bitwise(op, dtype, a, b);
    case 'not':
      return dtype === 'bool' ? 1 - a : dtype === 'int64' ? -1 - a : ~a;
    case 'where':
      return a !== 0 ? b : c;
    case 'cast':
      return castScalar(a, operand, dtype);
    default:
      return toComputeType(Math[op](a), dtype);
  }
}

function isNegative(value: number): boolean {
  return value < 0 || Object.is(value, -0);
}
