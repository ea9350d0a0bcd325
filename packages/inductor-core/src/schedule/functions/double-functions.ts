/**
 * @file Functions of f64, named `…_f64`: exponentials, logarithms and what is made of them.
 *
 * They go through vectors. Splits and polynomials are FreeBSD's (`e_log.c`, `s_log1p.c`) but for those of eˣ.
 */
import { DOUBLE_ANGLES } from './double-angles.js';
import { DOUBLE_POWER } from './double-power.js';
import { roundedDown } from './float-division.js';
import type { FunctionTable } from './program.js';

/** See the file header. */
export const DOUBLE_FUNCTIONS: FunctionTable = {
  /** eʳ - 1 - r for |r| ≤ ln 2 / 2, to 2⁻⁶¹. */
  exp_tail_f64: {
    text: `fn exp_tail_f64(r: f64) -> f64 {
  return r * r * poly(r, 0.5, 0.1666666666666667, 0.04166666666666667, 0.0083333333333261, 0.0013888888888884, 1.98412698748e-4, 2.4801587326e-5, 2.75572554e-6, 2.7557274e-7, 2.510522e-8, 2.0915e-9);
}`,
  },
  /** As `exp` of f32: 2ⁿ⁺⁶⁴ or 2ⁿ⁻⁶⁴ is in range, and what follows rounds once. */
  exp_f64: {
    ulp: 1,
    text: `fn exp_f64(x: f64) -> f64 {
  let negative = x < 0.0;
  let c = clamp(x, -746.0, 710.0);
  let rounder = select(f64(6755399441056703.0), 6755399441056831.0, negative);
  let biased = c * 1.4426950408889634 + rounder;
  let n = biased - rounder;
  let high = c - n * 0.6931471803691238;
  let low = n * 1.9082149292705877e-10;
  let r = high - low;
  let p = @exp_tail_f64(r) - (low - (high - r)) + r + 1.0;
  return p * bitcast<f64>(bitcast<i64>(biased) << 52u) * select(f64(18446744073709551616.0), 5.421010862427522e-20, negative);
}`,
  },
  /** Of whole numbers it is exact. */
  exp2_f64: {
    ulp: 1,
    called: true,
    text: `fn exp2_f64(x: f64) -> f64 {
  let negative = x < 0.0;
  let c = clamp(x, -1080.0, 1030.0);
  let rounder = select(f64(6755399441056703.0), 6755399441056831.0, negative);
  let biased = c + rounder;
  let r = (c - (biased - rounder)) * 0.6931471805599453;
  let p = @exp_tail_f64(r) + r + 1.0;
  return p * bitcast<f64>(bitcast<i64>(biased) << 52u) * select(f64(18446744073709551616.0), 5.421010862427522e-20, negative);
}`,
  },
  /** By half of it, which does not overflow before the result does. */
  expm1_f64: {
    ulp: 2,
    called: true,
    text: `fn expm1_f64(x: f64) -> f64 {
  let c = clamp(x, -50.0, 710.0);
  let biased = c * 1.4426950408889634 + 6755399441056766.0;
  let n = biased - 6755399441056766.0;
  let high = c - n * 0.6931471803691238;
  let low = n * 1.9082149292705877e-10;
  let r = high - low;
  let p = @exp_tail_f64(r) - (low - (high - r)) + r;
  let half = bitcast<f64>(bitcast<i64>(biased) << 52u);
  let y = half * p + (half - 0.5);
  return select(y + y, x, abs(x) < 1e-300);
}`,
  },
  sinh_f64: {
    ulp: 3,
    called: true,
    text: `fn sinh_f64(x: f64) -> f64 {
  let a = abs(x);
  let e = @expm1_f64(a);
  var y = (e + e / (e + 1.0)) * 0.5;
  if (any(a > 709.0)) { y = select(y, @exp_half_f64(a), a > 709.0); }
  return @with_sign(y, x);
}`,
  },
  cosh_f64: {
    ulp: 2,
    called: true,
    text: `fn cosh_f64(x: f64) -> f64 {
  let a = abs(x);
  let e = @exp_f64(a);
  var y = (e + 1.0 / e) * 0.5;
  if (any(a > 709.0)) { y = select(y, @exp_half_f64(a), a > 709.0); }
  return y;
}`,
  },
  /** eˣ / 2, finite wherever that is. */
  exp_half_f64: {
    called: true,
    text: `fn exp_half_f64(x: f64) -> f64 {
  let e = @exp_f64(x * 0.5);
  return e * 0.5 * e;
}`,
  },
  tanh_f64: {
    ulp: 3,
    called: true,
    text: `fn tanh_f64(x: f64) -> f64 {
  let e = @expm1_f64(clamp(abs(x), 0.0, 22.0) * 2.0);
  return @with_sign(e / (e + 2.0), x);
}`,
  },
  /** For all numbers alike: the exponent becomes a float by standing among the digits of 2⁵². */
  log_f64: {
    ulp: 1,
    text: `fn log_f64(x: f64) -> f64 {
  let tiny = x < 2.2250738585072014e-308;
  let bits = bitcast<i64>(select(x, x * 18014398509481984.0, tiny)) + 0x95f619980c433;
  let e = bitcast<f64>((bits >> 52u) | 0x4330000000000000) - select(f64(4503599627371519.0), 4503599627371573.0, tiny);
  let f = bitcast<f64>((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  let s = f / (f + 2.0);
  let h = 0.5 * f * f;
  let y = e * 0.6931471803691238 - ((h - (s * @log_sum_f64(s, h) + e * 1.9082149292705877e-10)) - f);
  return @log_specials_f64(x, y);
}`,
  },
  /** What 2·artanh s is made of, for s = f / (2 + f) and h = f² / 2. */
  log_sum_f64: {
    text: `fn log_sum_f64(s: f64, h: f64) -> f64 {
  let z = s * s;
  return h + z * poly(z, 0.6666666666666735, 0.3999999999940942, 0.28571428743662, 0.222221984321, 0.1818357216, 0.153138377, 0.14798199);
}`,
  },
  /** The value of a logarithm at 0, negative numbers, infinity and NaN, else y. */
  log_specials_f64: {
    text: `fn log_specials_f64(x: f64, y: f64) -> f64 {
  return select(select(x, y, x < @inf64()), select(@nan64(), -@inf64(), x == 0.0), x <= 0.0);
}`,
  },
  /** The exponent is added last, so that of powers of two it is exact. */
  log2_f64: {
    ulp: 2,
    called: true,
    text: `fn log2_f64(x: f64) -> f64 {
  let tiny = x < 2.2250738585072014e-308;
  let bits = bitcast<i64>(select(x, x * 18014398509481984.0, tiny)) + 0x95f619980c433;
  let e = bitcast<f64>((bits >> 52u) | 0x4330000000000000) - select(f64(4503599627371519.0), 4503599627371573.0, tiny);
  let f = bitcast<f64>((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  let s = f / (f + 2.0);
  let h = 0.5 * f * f;
  return @log_specials_f64(x, (f - (h - s * @log_sum_f64(s, h))) * 1.4426950408889634 + e);
}`,
  },
  /** What 1 + x rounds off is added again. */
  log1p_f64: {
    ulp: 2,
    called: true,
    text: `fn log1p_f64(x: f64) -> f64 {
  let u = x + 1.0;
  let rest = select(x - (u - 1.0), 1.0 - (u - x), x > 1.0) / u;
  let bits = bitcast<i64>(u) + 0x95f619980c433;
  let e = bitcast<f64>((bits >> 52u) | 0x4330000000000000) - 4503599627371519.0;
  let f = bitcast<f64>((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  let s = f / (f + 2.0);
  let h = 0.5 * f * f;
  let y = e * 0.6931471803691238 - ((h - (s * @log_sum_f64(s, h) + (e * 1.9082149292705877e-10 + rest))) - f);
  return select(@log_specials_f64(u, y), x, (x == 0.0) | (x == @inf64()));
}`,
  },
  sigmoid_f64: {
    ulp: 3,
    text: 'fn sigmoid_f64(x: f64) -> f64 { return 1.0 / (1.0 + @exp_f64(-x)); }',
  },
  ...DOUBLE_ANGLES,
  ...DOUBLE_POWER,
  /**
   * Of a quotient below 2²⁶, its product with the divisor is a sum of two exact ones, and so is what that rounds off. The
   * quotient is on the right side of every integer or has been rounded up to it.
   */
  fmod_f64: {
    ulp: 0,
    called: true,
    text: `fn fmod_f64(a: f64, b: f64) -> f64 {
  let x = abs(a);
  let y = abs(b);
  let quotient = trunc(x / y);
  let upper = bitcast<f64>(bitcast<i64>(y) & -67108864);
  let high = quotient * upper;
  let low = quotient * (y - upper);
  let product = high + low;
  let rest = (x - product) - (low - (product - high));
  var r = select(@with_sign(select(rest, rest + y, rest < 0.0), a), a, x < y);
  let far = !(quotient < 67108864.0);
  if (any(far)) { r = select(r, @fmod_far_f64(a, b), far); }
  return r;
}`,
  },
  /** Subtracts b·2ᵏ for falling k: every step is exact. */
  fmod_far_f64: {
    text: `fn fmod_far_f64(a: f64, b: f64) -> f64 {
  var x = abs(a);
  let y = abs(b);
  if (!(x < @inf64()) | !(y > 0.0)) { return @nan64(); }
  if (x < y) { return a; }
  var power = y;
  while (power <= x * 0.5) { power = power + power; }
  while (power >= y) {
    if (x >= power) { x = x - power; }
    power = power * 0.5;
  }
  return @with_sign(x, a);
}`,
  },
  ...roundedDown('f64', '_f64'),
  /** The rational approximations of fdlibm's `s_erf.c`. */
  erf_f64: {
    ulp: 1,
    text: `fn erf_f64(x: f64) -> f64 {
  let a = abs(x);
  if (a < 0.84375) {
    let z = x * x;
    return x + x * (poly(z, 0.12837916709551256, -0.3250421072470015, -0.02848174957559851, -0.005770270296489442, -2.3763016656650163e-5) / poly(z, 1.0, 0.39791722395915535, 0.0650222499887673, 0.005081306281875766, 1.3249473800432164e-4, -3.960228278775368e-6));
  }
  if (a < 1.25) {
    let s = a - 1.0;
    return @with_sign(0.8450629115104675 + poly(s, -0.0023621185607526594, 0.41485611868374833, -0.3722078760357013, 0.31834661990116175, -0.11089469428239668, 0.035478304325618236, -0.002166375594868791) / poly(s, 1.0, 0.10642088040084423, 0.540397917702171, 0.07182865441419627, 0.12617121980876164, 0.01363708391202905, 0.011984499846799107), x);
  }
  if (a >= 6.0) { return @with_sign(f64(1.0), x); }
  if (a != a) { return x; }
  let s = 1.0 / (a * a);
  var r = a;
  if (a < 2.857142857142857) {
    r = poly(s, -0.009864944034847148, -0.6938585727071818, -10.558626225323291, -62.375332450326006, -162.39666946257347, -184.60509290671104, -81.2874355063066, -9.814329344169145) / poly(s, 1.0, 19.651271667439257, 137.65775414351904, 434.56587747522923, 645.3872717332679, 429.00814002756783, 108.63500554177944, 6.570249770319282, -0.0604244152148581);
  } else {
    r = poly(s, -0.0098649429247001, -0.799283237680523, -17.757954917754752, -160.63638485582192, -637.5664433683896, -1025.0951316110772, -483.5191916086514) / poly(s, 1.0, 30.33806074348246, 325.7925129965739, 1536.729586084437, 3199.8582195085955, 2553.0504064331644, 474.52854120695537, -22.44095244658582);
  }
  return @with_sign(1.0 - @exp_f64((r - 0.5625) - a * a) / a, x);
}`,
  },
};
