/**
 * @file `finfo` and `iinfo`: what the numbers of a dtype can be. @see torch.finfo @see torch.iinfo
 */
import { TesseraError } from '@tessera/shared';
import { defaultDType } from './default-dtype.js';
import {
  DTYPES,
  type DType,
  type FloatDType,
  type IntegerDType,
  isFloatingPoint,
  isIntegral,
} from './dtype.js';

/** What the numbers of a floating-point dtype can be. */
export interface FloatInfo {
  readonly dtype: FloatDType;
  /** Bits of a number. */
  readonly bits: number;
  /** From 1 to the next larger number. */
  readonly eps: number;
  /** The largest number. */
  readonly max: number;
  /** The least number, `-max`. */
  readonly min: number;
  /** The smallest positive number of full precision. */
  readonly smallestNormal: number;
  /** The same. */
  readonly tiny: number;
  /** 10 to the power of how many decimal digits are sure. */
  readonly resolution: number;
}

/** What the numbers of an integer dtype can be; BigInts of int64, which numbers do not hold. */
export interface IntegerInfo<N extends number | bigint = number> {
  readonly dtype: IntegerDType;
  /** Bits of a number. */
  readonly bits: number;
  /** The largest number. */
  readonly max: N;
  /** The least number. */
  readonly min: N;
}

/** Bits of the significand behind the point, and the largest exponent. */
const FLOATS: Readonly<Record<FloatDType, readonly [digits: number, exponent: number]>> = {
  float32: [23, 127],
  float64: [52, 1023],
  float16: [10, 15],
  bfloat16: [7, 127],
};

function refuse(name: string, other: string, expected: string, dtype: unknown): never {
  throw new TesseraError(
    'dtype-unsupported',
    dtype === 'bool'
      ? `bool is not supported by ${name}`
      : `${name}() requires ${expected} input type, not ${String(dtype)}. Use ${other} to handle others`,
    { hints: [`Write ${name}('${name === 'finfo' ? 'float32' : 'int32'}').`] },
  );
}

/** What floats of a dtype can be, the default dtype unless given. @throws dtype-unsupported @see torch.finfo */
export function finfo(dtype: DType = defaultDType()): FloatInfo {
  if (!Object.hasOwn(DTYPES, dtype) || !isFloatingPoint(dtype))
    refuse('finfo', 'iinfo', 'a floating point', dtype);
  const [digits, exponent] = FLOATS[dtype];
  const eps = 2 ** -digits;
  // Of float64, twice the largest power is beyond the numbers.
  const max = 2 ** exponent * (2 - eps);
  const smallestNormal = 2 ** (1 - exponent);
  return {
    dtype,
    bits: 8 * DTYPES[dtype].itemSize,
    eps,
    max,
    min: -max,
    smallestNormal,
    tiny: smallestNormal,
    resolution: Number(`1e-${Math.floor(digits * Math.log10(2))}`),
  };
}

/** What integers of a dtype can be. @throws dtype-unsupported @see torch.iinfo */
export function iinfo(dtype: 'int64'): IntegerInfo<bigint>;
export function iinfo(dtype: Exclude<IntegerDType, 'int64'>): IntegerInfo;
export function iinfo(dtype: DType): IntegerInfo<number | bigint>;
export function iinfo(dtype: DType): IntegerInfo<number | bigint> {
  if (!Object.hasOwn(DTYPES, dtype) || !isIntegral(dtype))
    refuse('iinfo', 'finfo', 'an integer', dtype);
  const bits = 8 * DTYPES[dtype].itemSize;
  const magnitude = dtype === 'uint8' ? 2n ** 8n : 2n ** BigInt(bits - 1);
  const as = (value: bigint): number | bigint => (dtype === 'int64' ? value : Number(value));
  return {
    dtype,
    bits,
    max: as(magnitude - 1n),
    min: as(dtype === 'uint8' ? 0n : -magnitude),
  };
}
