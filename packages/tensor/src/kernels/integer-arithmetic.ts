/**
 * @file Integer arithmetic that wraps as the dtype does, where doubles would lose low bits.
 */
import { gcd } from '@tessera/shared';
import type { DType } from '../dtype.js';
import { itemSize } from '../dtype.js';

function wrap(value: bigint, dtype: DType): number {
  return Number(BigInt.asIntN(itemSize(dtype) * 8, value));
}

/** a · b of integers of a dtype. */
export function integerProduct(dtype: DType): (a: number, b: number) => number {
  return (a, b) => {
    const product = a * b;
    return Number.isSafeInteger(product) ? product : wrap(BigInt(a) * BigInt(b), dtype);
  };
}

/** Product of many integers of a dtype. */
export function productOfIntegers(values: Float64Array, dtype: DType): number {
  const product = values.reduce((a, b) => a * b, 1);
  // A product that a double holds was in its range all the way.
  if (Number.isSafeInteger(product)) return product;
  return wrap(
    values.reduce((a, b) => BigInt.asIntN(64, a * BigInt(b)), 1n),
    dtype,
  );
}

/** a ** b of integers of a dtype, b ≥ 0; negative exponents give 0 except for bases 1 and -1. */
export function integerPower(dtype: DType): (a: number, b: number) => number {
  const product = integerProduct(dtype);
  return (a, b) => {
    if (b < 0) return a === 1 ? 1 : a === -1 ? (b % 2 === 0 ? 1 : -1) : 0;
    // Squares of large numbers wrap in bits that a double does not have.
    if (dtype === 'int64' && Math.abs(a) ** b > Number.MAX_SAFE_INTEGER)
      return Number(wrappedPower(BigInt(a), b));
    let result = 1;
    let base = a;
    for (let rest = b; rest > 0; rest = Math.floor(rest / 2)) {
      if (rest % 2 === 1) result = product(result, base);
      base = product(base, base);
    }
    return result;
  };
}

function wrappedPower(a: bigint, b: number): bigint {
  let result = 1n;
  let base = a;
  for (let rest = b; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = BigInt.asIntN(64, result * base);
    base = BigInt.asIntN(64, base * base);
  }
  return result;
}

/** Least common multiple of integers of a dtype; 0 if either is 0. Its sign is lost before narrow types wrap. */
export function leastCommonMultiple(dtype: DType): (a: number, b: number) => number {
  const product = integerProduct(dtype);
  return (a, b) => {
    const divisor = gcd(a, b);
    if (divisor === 0) return 0;
    const multiple = product(a / divisor, b);
    return Math.abs(dtype === 'int32' ? multiple | 0 : multiple);
  };
}
