/**
 * @file The least and the greatest value of each integer type.
 */
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
