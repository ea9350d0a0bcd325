/**
 * @file Remainders and integer-valued quotients of floats, with PyTorch's signs.
 *
 * `fmod` is exact for every quotient; `remainder` and `floordiv` follow `c10::div_floor_floating`.
 */
import type { FunctionTable } from './program.js';

/** What rounds quotients down, by `fmod` of the same type. */
export function roundedDown(type: 'f32' | 'f64', suffix: '' | '_f64'): FunctionTable {
  return {
    [`remainder${suffix}`]: {
      ulp: 0,
      text: `fn remainder${suffix}(a: ${type}, b: ${type}) -> ${type} {
  let m = @fmod${suffix}(a, b);
  return select(m, m + b, (m != 0.0) & ((m < 0.0) != (b < 0.0)));
}`,
    },
    [`floordiv${suffix}`]: {
      ulp: 1,
      text: `fn floordiv${suffix}(a: ${type}, b: ${type}) -> ${type} {
  let m = @fmod${suffix}(a, b);
  let whole = (a - m) / b;
  let quotient = select(whole, whole - 1.0, (m != 0.0) & ((m < 0.0) != (b < 0.0)));
  let below = floor(quotient);
  let nearest = select(below, below + 1.0, quotient - below > 0.5);
  return select(nearest, a / b, b == 0.0);
}`,
    },
  };
}

/** What works on the bits, element by element. */
function fmodBits(name: string): string {
  return `fn ${name}(a: f32, b: f32) -> f32 {
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
}`;
}

/** See the file header. */
export const FLOAT_DIVISION: FunctionTable = {
  /**
   * In f64, the quotient of two f32 below 2²⁹ is on the right side of every integer, its product with the divisor exact,
   * and so is the difference.
   */
  fmod: {
    ulp: 0,
    text: ({ ieee }) =>
      ieee
        ? `fn fmod(a: f32, b: f32) -> f32 {
  let x = f64(a);
  let y = f64(b);
  let rest = f32(x - trunc(x / y) * y);
  var r = select(@copysign(rest, a), a, abs(b) == @inf());
  let far = !(abs(a / b) < 536870000.0);
  if (any(far)) { r = select(r, @fmod_bits(a, b), far); }
  return r;
}`
        : fmodBits('fmod'),
  },
  fmod_bits: {
    called: true,
    text: fmodBits('fmod_bits'),
  },
  ...roundedDown('f32', ''),
};
