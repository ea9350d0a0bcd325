/**
 * @file Integer arithmetic that wraps as the dtype does, where doubles would lose low bits.
 */
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

/** Greatest common divisor, not negative. */
export function greatestCommonDivisor(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

/** Least common multiple of integers of a dtype, not negative; 0 if either is 0. */
export function leastCommonMultiple(dtype: DType): (a: number, b: number) => number {
  const product = integerProduct(dtype);
  return (a, b) => {
    const divisor = greatestCommonDivisor(a, b);
    return divisor === 0 ? 0 : Math.abs(product(a / divisor, b));
  };
}
