/**
 * @file What integer types hold.
 */
import { ANY_INTEGER, type ValueRange, liesWithin } from '@tessera/shared';
import type { DType } from '@tessera/tensor';

const INT_BITS: Partial<Record<DType, number>> = { int8: 7, int16: 15, int32: 31, int64: 63 };

/** Smallest value of an integer type. */
export function lowest(dtype: DType): number {
  return dtype === 'bool' || dtype === 'uint8' ? 0 : -(2 ** INT_BITS[dtype]!);
}

/** Largest value of an integer type (2^63 for int64, which is the nearest double). */
export function highest(dtype: DType): number {
  return dtype === 'bool'
    ? 1
    : dtype === 'uint8'
      ? 255
      : dtype === 'int64'
        ? 2 ** 63
        : 2 ** INT_BITS[dtype]! - 1;
}

/** Places as kernels compute them, in 32 bits. */
export const INT32: ValueRange = { lo: lowest('int32'), hi: highest('int32') };

/** What every value of a type lies in; of int64 nothing is known, as not all of its values are doubles. */
export function rangeOf(dtype: DType): ValueRange {
  const hi = highest(dtype);
  return hi < 2 ** 63 ? { lo: lowest(dtype), hi } : ANY_INTEGER;
}

/**
 * Bounds of a computation in `dtype` which may leave the type: then 32-bit integers wrap around, and nothing is known
 * of narrower types, which are computed in wider ones. Devices without 64-bit integers compute int64 in 32 bits.
 */
export function unlessWrapped(bounds: ValueRange, dtype: DType): ValueRange {
  if (liesWithin(bounds, dtype === 'int64' ? INT32 : rangeOf(dtype))) return bounds;
  return dtype === 'int32' ? INT32 : ANY_INTEGER;
}
