/**
 * @file Powers of f64, by the method of FreeBSD's e_pow.c: log2 |x| is known to some 20 bits more than a number holds.
 */
import { powerOfAnything } from './wide-functions.js';
import type { FunctionTable } from './program.js';

/** See the file header. */
export const DOUBLE_POWER: FunctionTable = {
  /** The upper 21 digits, products of which are exact. */
  upper_f64: {
    text: `fn upper_f64(x: f64) -> f64 {
  return bitcast<f64>(bitcast<i64>(x) & -4294967296);
}`,
  },
  /** |x| is 2ⁿ·m with m around 1 or 1.5 (b). Beyond a y of 7e19, every power but that of 1 is 0 or ∞. */
  pow_f64: {
    ulp: 1,
    called: true,
    text: `fn pow_f64(x: f64, exponent: f64) -> f64 {
  let y = clamp(exponent, -7e19, 7e19);
  let size = abs(x);
  let tiny = size < 2.2250738585072014e-308;
  let bits = bitcast<i64>(select(size, size * 18014398509481984.0, tiny)) + 0x4498517a7b356;
  let n = bitcast<f64>((bits >> 52u) | 0x4330000000000000) - select(f64(4503599627371519.0), 4503599627371573.0, tiny);
  let m = bitcast<f64>((bits & 0xfffffffffffff) + 0x3febb67ae8584caa);
  let high = m >= 1.224744871391589;
  let b = select(f64(1.0), 1.5, high);
  // s = (m - b) / (m + b) in two parts
  let u = m - b;
  let v = 1.0 / (m + b);
  let s = u * v;
  let s1 = @upper_f64(s);
  let d1 = @upper_f64(m + b);
  let s2 = v * ((u - s1 * d1) - s1 * (m - (d1 - b)));
  let z = s * s;
  let r = z * z * poly(z, 0.5999999999999946, 0.4285714285785502, 0.33333332981837743, 0.272728123808534, 0.23066074577556175, 0.20697501780033842) + s2 * (s1 + s);
  let q = s1 * s1;
  let t1 = @upper_f64(3.0 + q + r);
  let t2 = r - ((t1 - 3.0) - q);
  let c = s1 * t1;
  let d = s2 * t1 + t2 * s;
  let p1 = @upper_f64(c + d);
  let p2 = d - (p1 - c);
  let h = 0.9617967009544373 * p1;
  let l = -7.028461650952758e-9 * p1 + p2 * 0.9617966939259756 + select(f64(0.0), 1.350039202129749e-8, high);
  let from = select(f64(0.0), 0.5849624872207642, high);
  let log1 = @upper_f64(((h + l) + from) + n);
  let log2 = l - (((log1 - n) - from) - h);
  // y·log2 |x|, whose whole part is the exponent
  let y1 = @upper_f64(y);
  let e1 = y1 * log1;
  let e2 = (y - y1) * log1 + y * log2;
  let e = e1 + e2;
  let negative = e < 0.0;
  let rounder = select(f64(6755399441056703.0), 6755399441056831.0, negative);
  let biased = clamp(e, -1080.0, 1030.0) + rounder;
  let f1 = e1 - (biased - rounder);
  let f = @upper_f64(f1 + e2);
  let g = f * 0.6931471824645996;
  let k = (e2 - (f - f1)) * 0.6931471805599453 + f * -1.904654299957768e-9;
  let a = g + k;
  let rest = k - (a - g);
  let one = 1.0 + a;
  let power = one + (((1.0 - one) + a) + (@exp_tail_f64(a) + (rest + a * rest)));
  var y0 = power * bitcast<f64>(bitcast<i64>(biased) << 52u) * select(f64(18446744073709551616.0), 5.421010862427522e-20, negative);
  y0 = select(select(y0, @inf64(), e > 1025.0), 0.0, e < -1080.0);
  if (any(!((x > 0.0) & (x < @inf64()) & (abs(exponent) < @inf64())))) { y0 = @pow_any_f64(x, exponent, y0); }
  return y0;
}`,
  },
  pow_any_f64: powerOfAnything('f64', '_f64'),
};
