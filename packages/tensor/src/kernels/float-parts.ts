/**
 * @file The parts of floating-point numbers: sign bit, neighbours, mantissa and exponent.
 */
import type { DType } from '../dtype.js';
import { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from './float16.js';

/** Largest finite number of a dtype. */
export const LARGEST_FINITE: Readonly<Partial<Record<DType, number>>> = {
  float64: Number.MAX_VALUE,
  float32: 3.4028234663852886e38,
  float16: 65504,
  bfloat16: 3.3895313892515355e38,
};

const f64 = new Float64Array(1);
const i64 = new BigInt64Array(f64.buffer);
const f32 = new Float32Array(1);
const i32 = new Int32Array(f32.buffer);

/** Whether the sign bit is set, also of -0 and NaN. */
export function signBit(x: number): boolean {
  if (!Number.isNaN(x)) return x < 0 || Object.is(x, -0);
  f64[0] = x;
  return i64[0]! < 0n;
}

/** The magnitude of one number with the sign of another. */
export function copySign(magnitude: number, sign: number): number {
  const size = Math.abs(magnitude);
  return signBit(sign) ? -size : size;
}

interface Format {
  readonly bits: (x: number) => bigint;
  readonly value: (bits: bigint) => number;
}

const FORMATS: Readonly<Partial<Record<DType, Format>>> = {
  float64: {
    bits: (x) => {
      f64[0] = x;
      return i64[0]!;
    },
    value: (bits) => {
      i64[0] = bits;
      return f64[0]!;
    },
  },
  float32: {
    bits: (x) => {
      f32[0] = x;
      return BigInt(i32[0]!);
    },
    value: (bits) => {
      i32[0] = Number(bits);
      return f32[0]!;
    },
  },
  float16: {
    bits: (x) => BigInt(numberToHalf(x)),
    value: (bits) => halfToNumber(Number(bits)),
  },
  bfloat16: {
    bits: (x) => BigInt(numberToBfloat(x)),
    value: (bits) => bfloatToNumber(Number(bits)),
  },
};

/** The number of a dtype next to the first, towards the second. */
export function nextAfterIn(dtype: DType): (from: number, to: number) => number {
  const { bits, value } = FORMATS[dtype]!;
  return (from, to) => {
    if (Number.isNaN(from) || Number.isNaN(to)) return NaN;
    if (from === to) return to;
    if (from === 0) return to > 0 ? value(1n) : -value(1n);
    // Bits of a sign count magnitudes up.
    const outwards = to > from === from > 0;
    const size = bits(Math.abs(from)) + (outwards ? 1n : -1n);
    return from > 0 ? value(size) : -value(size);
  };
}

/** `x = mantissa · 2^exponent` with 0.5 ≤ |mantissa| < 1; zeros and non-finite numbers have exponent 0. */
export function splitFloat(x: number): { readonly mantissa: number; readonly exponent: number } {
  if (x === 0 || !Number.isFinite(x)) return { mantissa: x, exponent: 0 };
  f64[0] = x;
  const biased = Number((i64[0]! >> 52n) & 0x7ffn);
  if (biased === 0) {
    const scaled = splitFloat(x * 2 ** 54);
    return { mantissa: scaled.mantissa, exponent: scaled.exponent - 54 };
  }
  i64[0] = (i64[0]! & ~(0x7ffn << 52n)) | (1022n << 52n);
  return { mantissa: f64[0]!, exponent: biased - 1022 };
}
