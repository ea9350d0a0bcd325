/**
 * @file NaN and infinity in WGSL: tests on bits, and values that no compiler may fold away.
 */
import type { HelperTable } from './helper-source.js';

/** See the file header. */
export const SPECIAL_VALUES: HelperTable = {
  is_nan: {
    type: 'f32',
    text: `fn @is_nan(x: F) -> B {
  return (bitcast<U>(x) & U(0x7fffffffu)) > U(0x7f800000u);
}`,
  },
  is_inf: {
    type: 'f32',
    text: `fn @is_inf(x: F) -> B {
  return (bitcast<U>(x) & U(0x7fffffffu)) == U(0x7f800000u);
}`,
  },
  inf: {
    type: 'f32',
    module: 'var<private> inf_bits: u32 = 0x7f800000u;',
    text: `fn @inf() -> F {
  return F(bitcast<f32>(inf_bits));
}`,
  },
  nan: {
    type: 'f32',
    module: 'var<private> nan_bits: u32 = 0x7fc00000u;',
    text: `fn @nan() -> F {
  return F(bitcast<f32>(nan_bits));
}`,
  },
  /** PyTorch's maximum: NaN if either is. */
  max: {
    type: 'f32',
    text: `fn @max(a: F, b: F) -> F {
  return select(select(max(a, b), b, @is_nan(b)), a, @is_nan(a));
}`,
  },
  min: {
    type: 'f32',
    text: `fn @min(a: F, b: F) -> F {
  return select(select(min(a, b), b, @is_nan(b)), a, @is_nan(a));
}`,
  },
};
