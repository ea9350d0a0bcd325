/**
 * @file Tests and choices that must know NaN, signs and neighbouring numbers: by bits, which no target mistakes.
 */
import type { FunctionTable } from './program.js';

/** Functions of the sign and the bits of a float; of f64, under names with `_f64`. */
function signRows(F: 'f32' | 'f64'): FunctionTable {
  const single = F === 'f32';
  const suffix = single ? '' : '_f64';
  const [U, one] = single ? ['u32', '1u'] : ['i64', '1'];
  const [sizeBits, signBit] = single
    ? ['0x7fffffffu', '0x80000000u']
    : ['0x7fffffffffffffff', '-9223372036854775808'];
  const isNan = (x: string): string => (single ? `@is_nan(${x})` : `${x} != ${x}`);
  return {
    [`sign${suffix}`]: {
      ulp: 0,
      text: `fn sign${suffix}(x: ${F}) -> ${F} {
  return select(${F}(0.0), 1.0, x > 0.0) - select(${F}(0.0), 1.0, x < 0.0);
}`,
    },
    [`copysign${suffix}`]: {
      ulp: 0,
      text: `fn copysign${suffix}(a: ${F}, b: ${F}) -> ${F} {
  return bitcast<${F}>((bitcast<${U}>(a) & ${sizeBits}) | (bitcast<${U}>(b) & ${signBit}));
}`,
    },
    /** Bits of a sign count magnitudes up. */
    [`nextafter${suffix}`]: {
      ulp: 0,
      text: `fn nextafter${suffix}(a: ${F}, b: ${F}) -> ${F} {
  let size = bitcast<${U}>(a) & ${sizeBits};
  let sign = bitcast<${U}>(a) & ${signBit};
  let outwards = (b > a) == (a > 0.0);
  let step = bitcast<${F}>(select(size - ${one}, size + ${one}, outwards) | sign);
  let tiny = bitcast<${F}>(${one} | (bitcast<${U}>(b) & ${signBit}));
  let y = select(select(step, tiny, size == ${single ? '0u' : '0'}), b, a == b);
  return select(select(y, b, ${isNan('b')}), a, ${isNan('a')});
}`,
    },
  };
}

/** The same of f64. */
export const DOUBLE_SIGNS: FunctionTable = signRows('f64');

/** See the file header. */
export const SPECIAL_VALUES: FunctionTable = {
  is_nan: {
    text: ({ ieee }) =>
      ieee
        ? 'fn is_nan(x: f32) -> bool { return x != x; }'
        : `fn is_nan(x: f32) -> bool {
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
  ...signRows('f32'),
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
