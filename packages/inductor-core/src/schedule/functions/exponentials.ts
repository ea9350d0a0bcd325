/**
 * @file Exponentials; the polynomial is that of Cephes (S. Moshier), `expf`.
 *
 * x = n·ln 2 + r with |r| ≤ ln 2 / 2; 2ⁿ goes into the exponent.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const EXPONENTIALS: FunctionTable = {
  /** 2^n for integral n in [-300, 300], in two factors so that results may be subnormal or overflow. */
  scale: {
    text: `fn scale(x: f32, n: i32) -> f32 {
  let half = n >> 1u;
  let low = bitcast<f32>((half + 127) << 23u);
  let high = bitcast<f32>((n - half + 127) << 23u);
  return x * low * high;
}`,
  },
  /** exp(r) - 1 for |r| up to ln(2)/2. */
  exp_core: {
    text: `fn exp_core(r: f32) -> f32 {
  var p = 1.9875691500e-4;
  p = p * r + 1.3981999507e-3;
  p = p * r + 8.3334519073e-3;
  p = p * r + 4.1665795894e-2;
  p = p * r + 1.6666665459e-1;
  p = p * r + 5.0000001201e-1;
  return p * (r * r) + r;
}`,
  },
  /** exp(x) for |x| up to 87. */
  exp_near: {
    text: `fn exp_near(x: f32) -> f32 {
  // The low bits of x·log2(e) + 1.5·2^23 are the exponent. The \`or\` changes nothing, but keeps compilers
  // from cancelling the sum against the difference.
  let t = bitcast<u32>(x * 1.44269504 + 12582912.0) | 0x4b000000u;
  let n = bitcast<f32>(t) - 12582912.0;
  let r = (x - n * 0.693359375) - n * -2.12194440e-4;
  return bitcast<f32>(bitcast<u32>(@exp_core(r) + 1.0) + (t << 23u));
}`,
  },
  exp_far: {
    text: `fn exp_far(x: f32) -> f32 {
  let c = clamp(x, -104.0, 89.0);
  let n = round(c * 1.44269504);
  let r = (c - n * 0.693359375) - n * -2.12194440e-4;
  let y = @scale(@exp_core(r) + 1.0, i32(n));
  return select(y, x, @is_nan(x));
}`,
  },
  /** exp(x) / 2, finite wherever that is. */
  exp_half: {
    text: `fn exp_half(x: f32) -> f32 {
  let c = clamp(x, -104.0, 91.0);
  let n = round(c * 1.44269504);
  let r = (c - n * 0.693359375) - n * -2.12194440e-4;
  return @scale(@exp_core(r) + 1.0, i32(n) - 1);
}`,
  },
  /** eˣ for x ≤ 0 (and up to 40) where arithmetic is exact; anything above is wrong. */
  exp_non_positive: {
    text: `fn exp_non_positive(x: f32) -> f32 {
  let clamped = max(x, -104.5);
  let biased = clamped * 1.4426950408889634 + 12583103.0;
  let n = biased - 12583103.0;
  let r = clamped - n * 0.693359375 - n * -2.1219444e-4;
  let p = r * r * poly(r, 0.49999993413848358, 0.16666520110960072, 0.041668393942823056, 0.0083687802105051928, 0.0013814480614641471) + r + 1.0;
  return p * bitcast<f32>(bitcast<i32>(biased) << 23u) * 5.421010862427522e-20;
}`,
  },
  /**
   * The exponent range of results (2⁻¹⁴⁹ … 2¹²⁸) is wider than one scaling allows. With IEEE arithmetic n is shifted by ±64
   * away from its end of the range and the last multiplication undoes it, rounding denormals once, without branches;
   * the sum with 1.5·2²³ rounds to an integer and leaves it, biased, in the low mantissa bits. The polynomial is a minimax
   * fit with relative error 3e-9. Without, the middle of the range is done first and the rest where some element needs it.
   */
  exp: {
    ulp: 2,
    text: ({ ieee }) =>
      ieee
        ? `fn exp(x: f32) -> f32 {
  let negative = x < 0.0;
  let clamped = min(max(x, -104.5), 89.0);
  let rounder = select(12582975.0, 12583103.0, negative);
  let biased = clamped * 1.4426950408889634 + rounder;
  let n = biased - rounder;
  let r = clamped - n * 0.693359375 - n * -2.1219444e-4;
  let p = r * r * poly(r, 0.49999993413848358, 0.16666520110960072, 0.041668393942823056, 0.0083687802105051928, 0.0013814480614641471) + r + 1.0;
  return p * bitcast<f32>(bitcast<i32>(biased) << 23u) * select(18446744073709551616.0, 5.421010862427522e-20, negative);
}`
        : `fn exp(x: f32) -> f32 {
  var y = @exp_near(x);
  let far = (bitcast<u32>(x) & 0x7fffffffu) > 0x42aeac4fu;
  if (any(far)) { y = select(y, @exp_far(x), far); }
  return y;
}`,
  },
  exp2: {
    ulp: 2,
    text: `fn exp2(x: f32) -> f32 {
  let c = clamp(x, -151.0, 129.0);
  let n = round(c);
  let r = (c - n) * 0.69314718;
  let y = @scale(@exp_core(r) + 1.0, i32(n));
  return select(y, x, @is_nan(x));
}`,
  },
  /** With IEEE arithmetic half of it is scaled, which does not overflow. Tiny arguments keep their sign of zero. */
  expm1: {
    ulp: 3,
    text: ({ ieee }) =>
      ieee
        ? `fn expm1(x: f32) -> f32 {
  let clamped = min(max(x, -18.0), 89.0);
  let biased = clamped * 1.4426950408889634 + 12583038.0;
  let n = biased - 12583038.0;
  let r = clamped - n * 0.693359375 - n * -2.1219444e-4;
  let s = bitcast<f32>(bitcast<i32>(biased) << 23u);
  let t = r * r * poly(r, 0.49999993413848358, 0.16666520110960072, 0.041668393942823056, 0.0083687802105051928, 0.0013814480614641471) + r;
  return select(2.0 * (s * t + (s - 0.5)), x, x == 0.0);
}`
        : `fn expm1(x: f32) -> f32 {
  let c = clamp(x, -18.0, 88.0);
  let n = round(c * 1.44269504);
  let r = (c - n * 0.693359375) - n * -2.12194440e-4;
  let s = bitcast<f32>((i32(n) + 127) << 23u);
  let y = s * @exp_core(r) + (s - 1.0);
  return select(select(y, @exp(x), x > 87.0), x, (abs(x) < 1e-8) | @is_nan(x));
}`,
  },
};
