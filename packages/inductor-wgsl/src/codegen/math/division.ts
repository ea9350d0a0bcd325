/**
 * @file Integer-valued division and remainders with PyTorch's signs, and conversions to narrow types.
 *
 * `fmod` works on the bits, so it is exact for every quotient; `remainder` and `floordiv` follow
 * `c10::div_floor_floating`.
 */
import type { HelperTable } from './helper-source.js';

/** See the file header. */
export const DIVISION: HelperTable = {
  fmod: {
    type: 'f32',
    lanewise: true,
    text: `fn @fmod(a: f32, b: f32) -> f32 {
  let sign = bitcast<u32>(a) & 0x80000000u;
  var x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if (x >= 0x7f800000u || y > 0x7f800000u || y == 0u) { return @nan(); }
  if (x < y) { return a; }
  // Exponents and integer mantissas; a subnormal has exponent 1 without the hidden bit.
  var ex = max(x >> 23u, 1u);
  let ey = max(y >> 23u, 1u);
  var mx = select(x & 0x7fffffu, (x & 0x7fffffu) | 0x800000u, x >= 0x800000u);
  let my = select(y & 0x7fffffu, (y & 0x7fffffu) | 0x800000u, y >= 0x800000u);
  while (ex > ey) {
    mx = (mx % my) << 1u;
    ex -= 1u;
  }
  mx = mx % my;
  if (mx == 0u) { return bitcast<f32>(sign); }
  let shift = min(countLeadingZeros(mx) - 8u, ex - 1u);
  mx = mx << shift;
  ex -= shift;
  x = select(mx, (mx & 0x7fffffu) | (ex << 23u), mx >= 0x800000u);
  return bitcast<f32>(x | sign);
}`,
  },
  remainder: {
    type: 'f32',
    text: `fn @remainder(a: F, b: F) -> F {
  let m = @fmod(a, b);
  return select(m, m + b, (m != F(0.0)) & ((m < F(0.0)) != (b < F(0.0))));
}`,
  },
  floordiv: {
    type: 'f32',
    text: `fn @floordiv(a: F, b: F) -> F {
  let m = @fmod(a, b);
  let wrong_side = (m != F(0.0)) & ((m < F(0.0)) != (b < F(0.0)));
  let quotient = (a - m) / b - select(F(0.0), F(1.0), wrong_side);
  let below = floor(quotient);
  let nearest = below + select(F(0.0), F(1.0), quotient - below > F(0.5));
  return select(nearest, a / b, b == F(0.0));
}`,
  },
  /** Integer division by zero gives zero: kernels must not trap. */
  truncdiv_int: {
    type: 'i32',
    text: `fn @truncdiv_int(a: I, b: I) -> I {
  return select(a / select(b, I(1), b == I(0)), I(0), b == I(0));
}`,
  },
  fmod_int: {
    type: 'i32',
    text: `fn @fmod_int(a: I, b: I) -> I {
  return a % select(b, I(1), b == I(0));
}`,
  },
  floordiv_int: {
    type: 'i32',
    text: `fn @floordiv_int(a: I, b: I) -> I {
  let q = @truncdiv_int(a, b);
  let r = a - q * b;
  return select(q, q - I(1), (r != I(0)) & ((r < I(0)) != (b < I(0))) & (b != I(0)));
}`,
  },
  remainder_int: {
    type: 'i32',
    text: `fn @remainder_int(a: I, b: I) -> I {
  let r = @fmod_int(a, b);
  return select(r, r + b, (r != I(0)) & ((r < I(0)) != (b < I(0))));
}`,
  },
  pow_int: {
    type: 'i32',
    lanewise: true,
    text: `fn @pow_int(base: i32, exponent: i32) -> i32 {
  if (exponent < 0) {
    let unit = select(1, -1, (exponent & 1) == 1);
    return select(select(0, unit, base == -1), 1, base == 1);
  }
  var result = 1;
  var square = base;
  for (var e = exponent; e > 0; e = e >> 1u) {
    if ((e & 1) == 1) { result *= square; }
    square *= square;
  }
  return result;
}`,
  },
  gcd_int: {
    type: 'i32',
    lanewise: true,
    text: `fn @gcd_int(a: i32, b: i32) -> i32 {
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
    type: 'i32',
    text: `fn @shl_int(a: I, b: I) -> I {
  return select(a << U(b & I(31)), I(0), (b > I(31)) | (b < I(0)));
}`,
  },
  shr_int: {
    type: 'i32',
    text: `fn @shr_int(a: I, b: I) -> I {
  return a >> U(select(min(b, I(31)), I(31), b < I(0)));
}`,
  },
  sign: {
    type: 'f32',
    text: `fn @sign(x: F) -> F {
  return select(F(0.0), F(1.0), x > F(0.0)) - select(F(0.0), F(1.0), x < F(0.0));
}`,
  },
  /** Nearest float16, ties to even, as an f32. */
  round_f16: {
    type: 'f32',
    text: `fn @round_f16(x: F) -> F {
  let bits = bitcast<U>(x);
  let magnitude = bits & U(0x7fffffffu);
  var kept = (magnitude + U(0xfffu) + ((magnitude >> U(13u)) & U(1u))) & U(0xffffe000u);
  kept = select(kept, U(0x7f800000u), kept >= U(0x47800000u));
  // Below 2^-14 the spacing is 2^-24.
  kept = select(kept, bitcast<U>(round(abs(x) * F(16777216.0)) * F(5.9604644775390625e-8)), magnitude < U(0x38800000u));
  kept = select(kept, magnitude, magnitude > U(0x7f800000u));
  return bitcast<F>(kept | (bits & U(0x80000000u)));
}`,
  },
  /** Nearest bfloat16, ties to even, as an f32. */
  round_bf16: {
    type: 'f32',
    text: `fn @round_bf16(x: F) -> F {
  let bits = bitcast<U>(x);
  let magnitude = bits & U(0x7fffffffu);
  let kept = (magnitude + U(0x7fffu) + ((magnitude >> U(16u)) & U(1u))) & U(0xffff0000u);
  return bitcast<F>(select(kept, magnitude, magnitude > U(0x7f800000u)) | (bits & U(0x80000000u)));
}`,
  },
};
