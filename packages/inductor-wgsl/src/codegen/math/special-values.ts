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
  /** a != b with NaN unlike everything: compilers may assume that there is none, so it is found by its bits. */
  differ: {
    type: 'f32',
    text: `fn @differ(a: F, b: F) -> B {
  return (a != b) | @is_nan(a) | @is_nan(b);
}`,
  },
  /** Whether a value counts as true: anything but a zero, NaN too. */
  truth: {
    type: 'f32',
    text: `fn @truth(x: F) -> B {
  return (bitcast<U>(x) & U(0x7fffffffu)) != U(0u);
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
  copysign: {
    type: 'f32',
    text: `fn @copysign(a: F, b: F) -> F {
  return bitcast<F>((bitcast<U>(a) & U(0x7fffffffu)) | (bitcast<U>(b) & U(0x80000000u)));
}`,
  },
  /** Bits of a sign count magnitudes up. */
  nextafter: {
    type: 'f32',
    text: `fn @nextafter(a: F, b: F) -> F {
  let size = bitcast<U>(a) & U(0x7fffffffu);
  let sign = bitcast<U>(a) & U(0x80000000u);
  let outwards = (b > a) == (a > F(0.0));
  let step = bitcast<F>(select(size - U(1u), size + U(1u), outwards) | sign);
  let tiny = bitcast<F>(U(1u) | (bitcast<U>(b) & U(0x80000000u)));
  let y = select(select(step, tiny, size == U(0u)), b, a == b);
  return select(select(y, b, @is_nan(b)), a, @is_nan(a));
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
