/**
 * @file Division, powers, shifts and greatest common divisors of integers.
 *
 * Kernels must not trap: division by zero gives zero.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const INTEGERS: FunctionTable = {
  /** Integer division by zero gives zero: kernels must not trap. */
  truncdiv_int: {
    text: `fn truncdiv_int(a: i32, b: i32) -> i32 {
  return select(a / select(b, 1, b == 0), 0, b == 0);
}`,
  },
  fmod_int: {
    text: `fn fmod_int(a: i32, b: i32) -> i32 {
  return a % select(b, 1, b == 0);
}`,
  },
  floordiv_int: {
    text: `fn floordiv_int(a: i32, b: i32) -> i32 {
  let q = @truncdiv_int(a, b);
  let r = a - q * b;
  return select(q, q - 1, (r != 0) & ((r < 0) != (b < 0)) & (b != 0));
}`,
  },
  remainder_int: {
    text: `fn remainder_int(a: i32, b: i32) -> i32 {
  let r = @fmod_int(a, b);
  return select(r, r + b, (r != 0) & ((r < 0) != (b < 0)));
}`,
  },
  pow_int: {
    text: `fn pow_int(base: i32, exponent: i32) -> i32 {
  if (exponent < 0) {
    let unit = select(1, -1, (exponent & 1) == 1);
    return select(select(0, unit, base == -1), 1, base == 1);
  }
  var result = 1;
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
  gcd_int: {
    text: `fn gcd_int(a: i32, b: i32) -> i32 {
  var x = abs(a);
  var y = abs(b);
  while (y != 0) {
    let rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}`,
  },
  /** Shifts by negative counts, or 32 and more, leave nothing but the sign. */
  shl_int: {
    text: `fn shl_int(a: i32, b: i32) -> i32 {
  return select(a << u32(b & 31), 0, (b > 31) | (b < 0));
}`,
  },
  shr_int: {
    text: `fn shr_int(a: i32, b: i32) -> i32 {
  return a >> u32(select(min(b, 31), 31, b < 0));
}`,
  },
};
