/**
 * @file tanh, sigmoid, erf, sinh, cosh: safe from overflow, small relative error near zero.
 *
 * The polynomials of tanh and erf are minimax fits by N. Juffa; sinh and cosh go through expm1 and exp.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const HYPERBOLIC: FunctionTable = {
  /**
   * With IEEE arithmetic: tanh |x| = (1 - e) / (1 + e) with e = e^-2|x| = s (1 + t), s a power of two: 1 - s and 1 + s are exact,
   * so numerator and denominator round once, and the quotient keeps its relative precision at 0.
   */
  tanh: {
    ulp: 2.5,
    text: ({ ieee }) =>
      ieee
        ? `fn tanh(x: f32) -> f32 {
  let scaled = min(abs(x), 9.1) * -2.0;
  let biased = scaled * 1.4426950408889634 + 12583039.0;
  let n = biased - 12583039.0;
  let r = scaled - n * 0.693359375 - n * -2.1219444e-4;
  let s = bitcast<f32>(bitcast<i32>(biased) << 23u);
  let t = r * r * poly(r, 0.5, 0.16666576666119928, 0.04166655421298415, 0.0083632328836826182, 0.0013926250831497612) + r;
  let quotient = (1.0 - s - s * t) / (1.0 + s + s * t);
  return bitcast<f32>(bitcast<u32>(quotient) | (bitcast<u32>(x) & 0x80000000u));
}`
        : `fn tanh(x: f32) -> f32 {
  let a = abs(x);
  let far = 1.0 - 2.0 / (@exp_near(min(a, 10.0) * 2.0) + 1.0);
  let s = x * x;
  var p = 1.57394409e-2;
  p = p * s + -5.23025580e-2;
  p = p * s + 1.33152977e-1;
  p = p * s + -3.33327681e-1;
  let near = p * s * x + x;
  let y = select(near, select(far, -far, x < 0.0), a >= 0.55);
  return select(y, x, @is_nan(x));
}`,
  },
  /**
   * With e = e^-|x| and g = e / (1 + e), the result is 1 - g, or e - e·g for negative x: rounding errors of g count little
   * in either, and small results keep their precision.
   */
  sigmoid: {
    ulp: 3,
    text: ({ ieee }) =>
      ieee
        ? `fn sigmoid(x: f32) -> f32 {
  let e = @exp_non_positive(bitcast<f32>(bitcast<u32>(x) | 0x80000000u));
  let g = e / (e + 1.0);
  let whole = select(1.0, e, x < 0.0);
  return whole - whole * g;
}`
        : `fn sigmoid(x: f32) -> f32 {
  let e = @exp(-abs(x));
  return select(1.0, e, x < 0.0) / (1.0 + e);
}`,
  },
  /**
   * An odd polynomial below 0.93, else 1 - e^q(|x|).
   */
  erf: {
    ulp: 2,
    text: ({ ieee }) =>
      ieee
        ? `fn erf(x: f32) -> f32 {
  let t = abs(x);
  let s = x * x;
  let near = poly(s, 1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4) * x + x;
  let high = -1.7285347e-5 * t + 3.83197126e-4;
  let low = -3.88396438e-3 * t + 2.42546219e-2;
  let q = poly(t, -1.28717512e-1, -6.34846687e-1, -1.06777877e-1);
  let tail = (high * s + low) * (s * t) + q;
  let e = @exp_non_positive(tail * t - t);
  let far = bitcast<f32>(bitcast<u32>(1.0 - e) | (bitcast<u32>(x) & 0x80000000u));
  return select(near, far, t > 0.927734375);
}`
        : `fn erf(x: f32) -> f32 {
  let a = min(abs(x), 4.0);
  let s = a * a;
  var q = (-1.72853470e-5 * a + 3.83197126e-4) * s + (-3.88396438e-3 * a + 2.42546219e-2);
  q = q * a + -1.06777877e-1;
  q = q * a + -6.34846687e-1;
  q = q * a + -1.28717512e-1;
  q = q * a - a;
  let far = 1.0 - @exp_near(q);
  var p = -5.96761703e-4;
  p = p * s + 4.99119423e-3;
  p = p * s + -2.67681349e-2;
  p = p * s + 1.12819925e-1;
  p = p * s + -3.76125336e-1;
  p = p * s + 1.28379166e-1;
  let near = p * x + x;
  let y = select(near, select(far, -far, x < 0.0), a > 0.927734375);
  return select(y, x, @is_nan(x));
}`,
  },
  sinh: {
    ulp: 4,
    text: `fn sinh(x: f32) -> f32 {
  let a = abs(x);
  let e = @expm1(min(a, 80.0));
  let y = select(0.5 * (e + e / (e + 1.0)), @exp_half(a), a > 80.0);
  return select(select(y, -y, x < 0.0), x, (a < 1e-4) | @is_nan(x));
}`,
  },
  cosh: {
    ulp: 4,
    text: `fn cosh(x: f32) -> f32 {
  let a = abs(x);
  let h = @exp_half(min(a, 40.0));
  let y = select(h + 0.25 / h, @exp_half(a), a > 40.0);
  return select(y, x, @is_nan(x));
}`,
  },
};
