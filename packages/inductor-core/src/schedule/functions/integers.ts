/**
 * @file Division, powers, shifts and greatest common divisors of integers.
 *
 * Kernels must not trap: division by zero gives zero. Names end in `_int` for i32, in `_long` for i64.
 */
import type { FunctionTable } from './program.js';

function integerRows(I: 'i32' | 'i64', suffix: string): FunctionTable {
  const last = I === 'i32' ? 31 : 63;
  return {
    /** Integer division by zero gives zero: kernels must not trap. */
    [`truncdiv_${suffix}`]: {
      text: `fn truncdiv_${suffix}(a: ${I}, b: ${I}) -> ${I} {
  return select(a / select(b, 1, b == 0), 0, b == 0);
}`,
    },
    [`fmod_${suffix}`]: {
      text: `fn fmod_${suffix}(a: ${I}, b: ${I}) -> ${I} {
  return a % select(b, 1, b == 0);
}`,
    },
    [`floordiv_${suffix}`]: {
      text: `fn floordiv_${suffix}(a: ${I}, b: ${I}) -> ${I} {
  let q = @truncdiv_${suffix}(a, b);
  let r = a - q * b;
  return select(q, q - 1, (r != 0) & ((r < 0) != (b < 0)) & (b != 0));
}`,
    },
    [`remainder_${suffix}`]: {
      text: `fn remainder_${suffix}(a: ${I}, b: ${I}) -> ${I} {
  let r = @fmod_${suffix}(a, b);
  return select(r, r + b, (r != 0) & ((r < 0) != (b < 0)));
}`,
    },
    [`pow_${suffix}`]: {
      text: `fn pow_${suffix}(base: ${I}, exponent: ${I}) -> ${I} {
  if (exponent < 0) {
    let unit = select(${I}(1), ${I}(-1), (exponent & 1) == 1);
    return select(select(0, unit, base == -1), 1, base == 1);
  }
  var result = ${I}(1);
  var square = base;
  var e = exponent;
  while (e > 0) {
    if ((e & 1) == 1) { result *= square; }
    square *= square;
    e = e >> 1u;
  }
  return result;
}`,
    },
    [`gcd_${suffix}`]: {
      text: `fn gcd_${suffix}(a: ${I}, b: ${I}) -> ${I} {
  var x = abs(a);
  var y = abs(b);
  while (y != 0) {
    let rest = x % y;
    x = y;
    y = rest;
  }
  return abs(x);
}`,
    },
    /** Shifts by negative counts, or by the width and more, leave nothing but the sign. */
    [`shl_${suffix}`]: {
      text: `fn shl_${suffix}(a: ${I}, b: ${I}) -> ${I} {
  return select(a << u32(b & ${last}), 0, (b > ${last}) | (b < 0));
}`,
    },
    [`shr_${suffix}`]: {
      text: `fn shr_${suffix}(a: ${I}, b: ${I}) -> ${I} {
  return a >> u32(select(min(b, ${last}), ${last}, b < 0));
}`,
    },
  };
}

/** Functions of i32, and of words. */
export const INTEGERS: FunctionTable = {
  ...integerRows('i32', 'int'),
  /** High word of the unsigned 64-bit product. */
  mul_high: {
    text: `fn mul_high(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let middle = ah * bl + ((al * bl) >> 16u);
  return ah * bh + (middle >> 16u) + ((al * bh + (middle & 0xffffu)) >> 16u);
}`,
  },
};

/** The same functions of i64. */
export const LONG_FUNCTIONS: FunctionTable = integerRows('i64', 'long');
