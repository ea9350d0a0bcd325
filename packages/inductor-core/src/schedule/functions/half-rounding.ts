/**
 * @file Rounding to 16-bit floats, to nearest even.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const HALF_ROUNDING: FunctionTable = {
  /** Nearest float16, ties to even, as an f32. */
  round_f16: {
    ulp: 0,
    text: `fn round_f16(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  let magnitude = bits & 0x7fffffffu;
  var kept = (magnitude + 0xfffu + ((magnitude >> 13u) & 1u)) & 0xffffe000u;
  kept = select(kept, 0x7f800000u, kept >= 0x47800000u);
  // Below 2^-14 the spacing is 2^-24.
  kept = select(kept, bitcast<u32>(round(abs(x) * 16777216.0) * 5.9604644775390625e-8), magnitude < 0x38800000u);
  kept = select(kept, magnitude, magnitude > 0x7f800000u);
  return bitcast<f32>(kept | (bits & 0x80000000u));
}`,
  },
  /** Nearest bfloat16, ties to even, as an f32. */
  round_bf16: {
    ulp: 0,
    text: `fn round_bf16(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  let magnitude = bits & 0x7fffffffu;
  let kept = (magnitude + 0x7fffu + ((magnitude >> 16u) & 1u)) & 0xffff0000u;
  return bitcast<f32>(select(kept, magnitude, magnitude > 0x7f800000u) | (bits & 0x80000000u));
}`,
  },
};
