/**
 * @file Logarithms; polynomials of Cephes (S. Moshier), `logf`.
 *
 * x = 2ᵉ(1 + f) with √½ ≤ 1 + f < √2.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const LOGARITHMS: FunctionTable = {
  /** Splits x into 2^e * (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1]; returns f. */
  log_fraction: {
    text: `fn log_fraction(x: f32) -> f32 {
  let big = select(x, x * 16777216.0, x < 1.1754944e-38);
  let bits = bitcast<u32>(big) + u32(0x3f800000u - 0x3f3504f3u);
  return bitcast<f32>((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0;
}`,
  },
  log_exponent: {
    text: `fn log_exponent(x: f32) -> f32 {
  let small = x < 1.1754944e-38;
  let big = select(x, x * 16777216.0, small);
  let bits = bitcast<u32>(big) + u32(0x3f800000u - 0x3f3504f3u);
  return f32(i32(bits >> 23u) - 127) - select(0.0, 24.0, small);
}`,
  },
  /** log(1 + f) - f + f²/2 for f as from log_fraction. */
  log_core: {
    text: `fn log_core(f: f32) -> f32 {
  var p = 7.0376836292e-2;
  p = p * f + -1.1514610310e-1;
  p = p * f + 1.1676998740e-1;
  p = p * f + -1.2420140846e-1;
  p = p * f + 1.4249322787e-1;
  p = p * f + -1.6668057665e-1;
  p = p * f + 2.0000714765e-1;
  p = p * f + -2.4999993993e-1;
  p = p * f + 3.3333331174e-1;
  return p * f * (f * f);
}`,
  },
  /** The value of a logarithm at 0, negative numbers, infinity and NaN, else y. */
  log_specials: {
    text: `fn log_specials(x: f32, y: f32) -> f32 {
  let infinite = select(y, x, (x > 3.4028234e38) | @is_nan(x));
  return select(select(infinite, @nan(), x < 0.0), -@inf(), x == 0.0);
}`,
  },
  /** Bits of x, moved so that the exponent field counts from √½. */
  log_offset: {
    text: `fn log_offset(x: f32) -> u32 {
  return bitcast<u32>(x) + 0x4afb0du;
}`,
  },
  /** k·ln 2 + log m, m from such bits, by the series of 2·artanh(f / (2 + f)) as in musl's `logf`. */
  log_sum: {
    text: `fn log_sum(offset: u32, k: f32) -> f32 {
  let f = bitcast<f32>((offset & 0x7fffffu) + 0x3f3504f3u) - 1.0;
  let s = f / (f + 2.0);
  let z = s * s;
  let w = z * z;
  let even = w * (w * 0.24279078841 + 0.40000972152);
  let odd = z * (w * 0.28498786688 + 0.66666662693);
  let half = f * f * 0.5;
  let correction = k * 9.0580006145e-6 + s * (half + (even + odd));
  return k * 0.69313812256 + (f - (half - correction));
}`,
  },
  /** The logarithm of anything: the square root gives what it gives for infinity, NaN and negative numbers. */
  log_any: {
    called: true,
    text: `fn log_any(x: f32) -> f32 {
  let small = x < 1.1754943508222875e-38;
  let offset = @log_offset(select(x, x * 33554432.0, small));
  let k = f32(bitcast<i32>(offset >> 23u) - 127 - select(0, 25, small));
  let finite = @log_sum(offset, k);
  let special = select(sqrt(x), -@inf(), x == 0.0);
  return select(finite, special, !(x > 0.0) | (x == @inf()));
}`,
  },
  /** With IEEE arithmetic, positive normal numbers go straight through; if an element is none, all go by `log_any`. */
  log: {
    ulp: 2,
    text: ({ ieee }) =>
      ieee
        ? `fn log(x: f32) -> f32 {
  let offset = @log_offset(x);
  var y = @log_sum(offset, f32(bitcast<i32>(offset >> 23u) - 127));
  if (any(!((x >= 1.1754943508222875e-38) & (x < @inf())))) { y = @log_any(x); }
  return y;
}`
        : `fn log(x: f32) -> f32 {
  let f = @log_fraction(x);
  let e = @log_exponent(x);
  let tail = @log_core(f) + e * -2.12194440e-4 - 0.5 * f * f;
  return @log_specials(x, (f + tail) + e * 0.693359375);
}`,
  },
  log2: {
    ulp: 2.5,
    text: `fn log2(x: f32) -> f32 {
  let f = @log_fraction(x);
  let tail = @log_core(f) - 0.5 * f * f;
  // log2(e) = 1 + 0.44269504: the large part is added last.
  let y = ((tail * 0.44269504 + f * 0.44269504) + tail) + f;
  return @log_specials(x, y + @log_exponent(x));
}`,
  },
  /**
   * With IEEE arithmetic the logarithm of 1 + x, and what that rounded off. Without, near zero x itself is the fraction;
   * elsewhere rounding 1 + x costs at most an ulp.
   */
  log1p: {
    ulp: 3,
    text: ({ ieee }) =>
      ieee
        ? `fn log1p(x: f32) -> f32 {
  let u = 1.0 + x;
  let rest = select(x - (u - 1.0), 1.0 - (u - x), x > 1.0) / u;
  let offset = @log_offset(u);
  var y = @log_sum(offset, f32(bitcast<i32>(offset >> 23u) - 127)) + rest;
  let special = !((x > -1.0) & (x < @inf()));
  if (any(special)) { y = select(y, @log_any(u), special); }
  return select(y, x, x == 0.0);
}`
        : `fn log1p(x: f32) -> f32 {
  let near = (x > -0.29) & (x < 0.41);
  let u = 1.0 + x;
  let f = select(@log_fraction(u), x, near);
  let e = select(@log_exponent(u), 0.0, near);
  let tail = @log_core(f) + e * -2.12194440e-4 - 0.5 * f * f;
  return select(@log_specials(u, (f + tail) + e * 0.693359375), x, abs(x) < 1e-8);
}`,
  },
};
