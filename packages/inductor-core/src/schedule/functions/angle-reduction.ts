/**
 * @file Reduction of angles modulo π/2 by Payne and Hanek's product with the bits of 2/π, exact for every f32.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const ANGLE_REDUCTION: FunctionTable = {
  /** Low and high words of |x|·2/π modulo 4 as a 64-bit fixed-point number, two bits before the point. */
  payne_hanek: {
    text: `fn payne_hanek(x: f32) -> pair {
  array table = [0u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u];
  let bits = bitcast<u32>(x);
  let exponent = ((bits >> 23u) & 0xffu) - 126u;
  let mantissa = (bits << 8u) | 0x80000000u;
  let word = exponent >> 5u;
  let shift = exponent & 31u;
  var high = table[word];
  var middle = table[word + 1u];
  var low = table[word + 2u];
  if (shift != 0u) {
    high = (high << shift) | (middle >> (32u - shift));
    middle = (middle << shift) | (low >> (32u - shift));
    low = (low << shift) | (table[word + 3u] >> (32u - shift));
  }
  let carry = @mul_high(mantissa, low);
  let sum = mantissa * middle + carry;
  return pair(sum, mantissa * high + @mul_high(mantissa, middle) + select(0u, 1u, sum < carry));
}`,
  },
};
