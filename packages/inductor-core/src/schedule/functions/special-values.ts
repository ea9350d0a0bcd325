/**
 * @file Tests and choices that must know NaN, signs and neighbouring numbers: by bits, which no target mistakes.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const SPECIAL_VALUES: FunctionTable = {
  is_nan: {
    text: `fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}`,
  },
  is_inf: {
    text: `fn is_inf(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}`,
  },
  /** a != b with NaN unlike everything: compilers may assume that there is none, so it is found by its bits. */
  differ: {
    text: `fn differ(a: f32, b: f32) -> bool {
  return (a != b) | @is_nan(a) | @is_nan(b);
}`,
  },
  /** Whether a value counts as true: anything but a zero, NaN too. */
  truth: {
    text: `fn truth(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) != 0u;
}`,
  },
  sign: {
    ulp: 0,
    text: `fn sign(x: f32) -> f32 {
  return select(0.0, 1.0, x > 0.0) - select(0.0, 1.0, x < 0.0);
}`,
  },
  copysign: {
    ulp: 0,
    text: `fn copysign(a: f32, b: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}`,
  },
  /** Bits of a sign count magnitudes up. */
  nextafter: {
    ulp: 0,
    text: `fn nextafter(a: f32, b: f32) -> f32 {
  let size = bitcast<u32>(a) & 0x7fffffffu;
  let sign = bitcast<u32>(a) & 0x80000000u;
  let outwards = (b > a) == (a > 0.0);
  let step = bitcast<f32>(select(size - 1u, size + 1u, outwards) | sign);
  let tiny = bitcast<f32>(1u | (bitcast<u32>(b) & 0x80000000u));
  let y = select(select(step, tiny, size == 0u), b, a == b);
  return select(select(y, b, @is_nan(b)), a, @is_nan(a));
}`,
  },
  /** PyTorch's maximum: NaN if either is. */
  max: {
    text: `fn max(a: f32, b: f32) -> f32 {
  return select(select(max(a, b), b, @is_nan(b)), a, @is_nan(a));
}`,
  },
  min: {
    text: `fn min(a: f32, b: f32) -> f32 {
  return select(select(min(a, b), b, @is_nan(b)), a, @is_nan(a));
}`,
  },
};
