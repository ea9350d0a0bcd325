/**
 * @file Reduction of angles modulo π/2: `quarter_rest` in [-π/4, π/4], `quarter_count` modulo 4.
 *
 * In three parts (Cody and Waite) up to 4096, and beyond that by Payne and Hanek's product with the bits of 2/π,
 * exact for every f32.
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
  far_rest: {
    text: `fn far_rest(x: f32) -> f32 {
  let turns = @payne_hanek(x);
  // Fraction of a quarter turn in 64 bits, taken as signed: [-1/2, 1/2).
  var low = turns.x << 2u;
  var high = (turns.y << 2u) | (turns.x >> 30u);
  let below = (high >> 31u) == 1u;
  if (below) {
    high = ~high + select(0u, 1u, low == 0u);
    low = ~low + 1u;
  }
  let rest = (f32(high) * 2.3283064365386963e-10 + f32(low) * 5.421010862427522e-20) * 1.57079633;
  return select(rest, -rest, below != (x < 0.0));
}`,
  },
  far_count: {
    text: `fn far_count(x: f32) -> f32 {
  let top = @payne_hanek(x).y;
  let count = (top >> 30u) + ((top >> 29u) & 1u);
  return f32(select(count, 4u - count, x < 0.0) & 3u);
}`,
  },
  quarter_count: {
    text: `fn quarter_count(x: f32) -> i32 {
  var n = round(x * 0.63661977);
  let far = abs(x) > 4096.0;
  if (any(far)) { n = select(n, @far_count(x), far); }
  return i32(n) & 3;
}`,
  },
  quarter_rest: {
    text: `fn quarter_rest(x: f32) -> f32 {
  let n = round(x * 0.63661977);
  var r = ((x - n * 1.5703125) - n * 4.837512969970703125e-4) - n * 7.54978995489188216e-8;
  let far = abs(x) > 4096.0;
  if (any(far)) { r = select(r, @far_rest(x), far); }
  return r;
}`,
  },
};
