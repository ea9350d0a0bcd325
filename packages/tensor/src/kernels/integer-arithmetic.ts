/**
 * @file Integer arithmetic that wraps as the dtype does, where doubles would lose low bits.
 *
 * Kernels compute whole numbers in doubles. One that meets an element or a result that doubles do not hold is run again,
 * and gets such elements as BigInts. Functions of both kinds are written with operators, which mean the same for either,
 * and never meet the two at once.
 */
import { type DType, isIntegral } from '../dtype.js';

type Arithmetic = (...values: number[]) => number;

/** What ends a kernel in doubles that are not enough. */
const BEYOND_DOUBLES = new Error('beyond doubles');

/** Whether the running kernel has BigInts. */
let hasBigs = false;

/** Runs a kernel in doubles, or else again, exactly: what it wrote before it ended, it writes anew. */
export function runExactly<Args, Outs, R>(
  kernel: (args: Args, outs: Outs) => R,
  args: Args,
  outs: Outs,
): R {
  const around = hasBigs;
  hasBigs = false;
  try {
    return kernel(args, outs);
  } catch (error) {
    if (error !== BEYOND_DOUBLES) throw error;
    hasBigs = true;
    return kernel(args, outs);
  } finally {
    hasBigs = around;
  }
}

/** Whether the running kernel has BigInts; else it ends, to be run with them, where a whole number is beyond doubles. */
export function needsBigs(isBeyond: boolean): boolean {
  if (isBeyond && !hasBigs) throw BEYOND_DOUBLES;
  return hasBigs;
}

/** A BigInt as an element: the types have numbers only (see `Elements`). */
export function bigElement(value: bigint): number {
  return value as unknown as number;
}

/** A whole number modulo 2⁶⁴ as elements of int64 are given. */
function wrapped(value: number | bigint): number {
  const whole = BigInt.asIntN(64, BigInt(value));
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : bigElement(whole);
}

/** `fn` of whole numbers, modulo 2⁶⁴: asked again in BigInts where an operand is one, or the result is beyond doubles. */
export function wholly(fn: Arithmetic): Arithmetic {
  return (...values) => {
    const result = values.some(isBig) ? NaN : fn(...values);
    if (Number.isSafeInteger(result)) return result;
    return wrapped(fn(...(values.map(BigInt) as unknown[] as number[])));
  };
}

/** `fn` on elements of a dtype in a kernel: of whole numbers exact modulo 2⁶⁴. */
export function exactIn(dtype: DType, fn: Arithmetic): Arithmetic {
  if (!isIntegral(dtype)) return fn;
  if (needsBigs(false)) return wholly(fn);
  return (a, b, c) => {
    const result = fn(a!, b!, c!);
    needsBigs(!Number.isSafeInteger(result));
    return result;
  };
}

/** Whether a number, which may be an element, is a BigInt. */
export function isBig(value: number): boolean;
export function isBig(value: unknown): value is bigint;
export function isBig(value: unknown): boolean {
  return typeof value === 'bigint';
}

/** A factor times an element; NaN where whole numbers give what doubles do not hold, so that `exactIn` asks again. */
export function productIn(dtype: DType): (factor: number, value: number) => number {
  if (!isIntegral(dtype)) return (a, b) => a * b;
  return (a, b) => {
    if (isBig(b)) return bigElement(BigInt(a) * BigInt(b));
    return Number.isSafeInteger(a * b) ? a * b : NaN;
  };
}

/** The larger of two elements; NaN wins. */
export function larger(a: number, b: number): number {
  return a > b ? a : a < b ? b : isBig(a) ? a : Math.max(a, b);
}

/** The smaller of two elements; NaN wins. */
export function smaller(a: number, b: number): number {
  return a < b ? a : a > b ? b : isBig(a) ? a : Math.min(a, b);
}

/** a ** b of whole numbers; negative exponents give 0 except for bases 1 and -1. */
export function wholePower(a: number, b: number): number {
  // What is no whole number here is asked again.
  return isBig(a) ? bigElement(wrappedPower(BigInt(a), BigInt(b))) : a ** b;
}

function wrappedPower(a: bigint, b: bigint): bigint {
  if (b < 0n) return a * a === 1n ? (b % 2n === 0n ? 1n : a) : 0n;
  let result = 1n;
  for (let [base, rest] = [a, b]; rest > 0n; rest /= 2n) {
    if (rest % 2n === 1n) result = BigInt.asIntN(64, result * base);
    base = BigInt.asIntN(64, base * base);
  }
  return result;
}

function magnitude(a: number): number {
  return a < 0 ? -a : a;
}

/** Greatest common divisor of whole numbers. */
export function commonDivisor(a: number, b: number): number {
  while (b) [a, b] = [b, a % b];
  return magnitude(a);
}

/** Least common multiple of integers of a dtype; 0 if either is 0. Its sign is lost before narrow types wrap. */
export function leastCommonMultiple(dtype: DType): (a: number, b: number) => number {
  const bits = dtype === 'int64' ? 64 : 32;
  return (a, b) => {
    if (!isBig(a)) return NaN;
    const divisor = commonDivisor(a, b);
    const multiple = divisor && BigInt.asIntN(bits, BigInt(a / divisor) * BigInt(b));
    return magnitude(multiple as number);
  };
}
