/**
 * @file Exponentials, logarithms and powers.
 *
 * WGSL's own `exp` may be off by 3 + 2|x| ulp, `log` by an absolute 2^-21 near one (all relative
 * precision lost) and `pow` is undefined for negative bases; these stay within about 2 ulp over the
 * whole range and follow IEEE specials. Polynomials are those of Cephes (S. Moshier) and, for `pow`,
 * FreeBSD's e_powf.c, whose split products are cut by bit masks that no compiler reassociates.
 */
import type { HelperTable } from './helper-source.js';

/** See the file header. */
export const EXPONENTIAL: HelperTable = {
  /** 2^n for integral n in [-300, 300], in two factors so that results may be subnormal or overflow. */
  scale: {
    type: 'f32',
    text: `fn @scale(x: F, n: I) -> F {
  let half = n >> U(1u);
  let low = bitcast<F>((half + I(127)) << U(23u));
  let high = bitcast<F>((n - half + I(127)) << U(23u));
  return x * low * high;
}`,
  },
  /** exp(r) - 1 for |r| up to ln(2)/2. */
  exp_core: {
    type: 'f32',
    text: `fn @exp_core(r: F) -> F {
  var p = F(1.9875691500e-4);
  p = p * r + F(1.3981999507e-3);
  p = p * r + F(8.3334519073e-3);
  p = p * r + F(4.1665795894e-2);
  p = p * r + F(1.6666665459e-1);
  p = p * r + F(5.0000001201e-1);
  return p * (r * r) + r;
}`,
  },
  /** exp(x) for |x| up to 87. */
  exp_near: {
    type: 'f32',
    text: `fn @exp_near(x: F) -> F {
  // The low bits of x·log2(e) + 1.5·2^23 are the exponent. The \`or\` changes nothing, but keeps compilers
  // from cancelling the sum against the difference.
  let t = bitcast<U>(x * F(1.44269504) + F(12582912.0)) | U(0x4b000000u);
  let n = bitcast<F>(t) - F(12582912.0);
  let r = (x - n * F(0.693359375)) - n * F(-2.12194440e-4);
  return bitcast<F>(bitcast<U>(@exp_core(r) + F(1.0)) + (t << U(23u)));
}`,
  },
  exp_far: {
    type: 'f32',
    text: `fn @exp_far(x: F) -> F {
  let c = clamp(x, F(-104.0), F(89.0));
  let n = round(c * F(1.44269504));
  let r = (c - n * F(0.693359375)) - n * F(-2.12194440e-4);
  let y = @scale(@exp_core(r) + F(1.0), I(n));
  return select(y, x, @is_nan(x));
}`,
  },
  /** exp(x) / 2, finite wherever that is. */
  exp_half: {
    type: 'f32',
    text: `fn @exp_half(x: F) -> F {
  let c = clamp(x, F(-104.0), F(91.0));
  let n = round(c * F(1.44269504));
  let r = (c - n * F(0.693359375)) - n * F(-2.12194440e-4);
  return @scale(@exp_core(r) + F(1.0), I(n) - I(1));
}`,
  },
  exp: {
    type: 'f32',
    text: `fn @exp(x: F) -> F {
  var y = @exp_near(x);
  let far = (bitcast<U>(x) & U(0x7fffffffu)) > U(0x42aeac4fu);
  if (any(far)) { y = select(y, @exp_far(x), far); }
  return y;
}`,
  },
  exp2: {
    type: 'f32',
    text: `fn @exp2(x: F) -> F {
  let c = clamp(x, F(-151.0), F(129.0));
  let n = round(c);
  let r = (c - n) * F(0.69314718);
  let y = @scale(@exp_core(r) + F(1.0), I(n));
  return select(y, x, @is_nan(x));
}`,
  },
  expm1: {
    type: 'f32',
    text: `fn @expm1(x: F) -> F {
  let c = clamp(x, F(-18.0), F(88.0));
  let n = round(c * F(1.44269504));
  let r = (c - n * F(0.693359375)) - n * F(-2.12194440e-4);
  let s = bitcast<F>((I(n) + I(127)) << U(23u));
  let y = s * @exp_core(r) + (s - F(1.0));
  // Tiny arguments keep their sign of zero.
  return select(select(y, @exp(x), x > F(87.0)), x, (abs(x) < F(1e-8)) | @is_nan(x));
}`,
  },
  /** Splits x into 2^e * (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1]; returns f. */
  log_fraction: {
    type: 'f32',
    text: `fn @log_fraction(x: F) -> F {
  let big = select(x, x * F(16777216.0), x < F(1.1754944e-38));
  let bits = bitcast<U>(big) + U(0x3f800000u - 0x3f3504f3u);
  return bitcast<F>((bits & U(0x7fffffu)) + U(0x3f3504f3u)) - F(1.0);
}`,
  },
  log_exponent: {
    type: 'f32',
    text: `fn @log_exponent(x: F) -> F {
  let small = x < F(1.1754944e-38);
  let big = select(x, x * F(16777216.0), small);
  let bits = bitcast<U>(big) + U(0x3f800000u - 0x3f3504f3u);
  return F(I(bits >> U(23u)) - I(127)) - select(F(0.0), F(24.0), small);
}`,
  },
  /** log(1 + f) - f + f²/2 for f as from log_fraction. */
  log_core: {
    type: 'f32',
    text: `fn @log_core(f: F) -> F {
  var p = F(7.0376836292e-2);
  p = p * f + F(-1.1514610310e-1);
  p = p * f + F(1.1676998740e-1);
  p = p * f + F(-1.2420140846e-1);
  p = p * f + F(1.4249322787e-1);
  p = p * f + F(-1.6668057665e-1);
  p = p * f + F(2.0000714765e-1);
  p = p * f + F(-2.4999993993e-1);
  p = p * f + F(3.3333331174e-1);
  return p * f * (f * f);
}`,
  },
  /** The value of a logarithm at 0, negative numbers, infinity and NaN, else y. */
  log_specials: {
    type: 'f32',
    text: `fn @log_specials(x: F, y: F) -> F {
  let infinite = select(y, x, (x > F(3.4028234e38)) | @is_nan(x));
  return select(select(infinite, @nan(), x < F(0.0)), -@inf(), x == F(0.0));
}`,
  },
  log: {
    type: 'f32',
    text: `fn @log(x: F) -> F {
  let f = @log_fraction(x);
  let e = @log_exponent(x);
  let tail = @log_core(f) + e * F(-2.12194440e-4) - F(0.5) * f * f;
  return @log_specials(x, (f + tail) + e * F(0.693359375));
}`,
  },
  log2: {
    type: 'f32',
    text: `fn @log2(x: F) -> F {
  let f = @log_fraction(x);
  let tail = @log_core(f) - F(0.5) * f * f;
  // log2(e) = 1 + 0.44269504: the large part is added last.
  let y = ((tail * F(0.44269504) + f * F(0.44269504)) + tail) + f;
  return @log_specials(x, y + @log_exponent(x));
}`,
  },
  log1p: {
    type: 'f32',
    text: `fn @log1p(x: F) -> F {
  // Near zero x itself is the fraction; elsewhere rounding 1 + x costs at most an ulp.
  let near = (x > F(-0.29)) & (x < F(0.41));
  let u = F(1.0) + x;
  let f = select(@log_fraction(u), x, near);
  let e = select(@log_exponent(u), F(0.0), near);
  let tail = @log_core(f) + e * F(-2.12194440e-4) - F(0.5) * f * f;
  return select(@log_specials(u, (f + tail) + e * F(0.693359375)), x, abs(x) < F(1e-8));
}`,
  },
  pow: {
    type: 'f32',
    lanewise: true,
    text: `fn @pow(x: f32, y: f32) -> f32 {
  let ax = abs(x);
  let ix = bitcast<u32>(ax);
  let iy = bitcast<u32>(y) & 0x7fffffffu;
  if (iy == 0u || x == 1.0) { return 1.0; }
  if (ix > 0x7f800000u || iy > 0x7f800000u) { return @nan(); }
  // 0: y is no integer, 1: odd, 2: even
  var parity = 0u;
  if (iy >= 0x4b800000u) { parity = 2u; }
  else if (y == trunc(y)) { parity = select(1u, 2u, (i32(y) & 1) == 0); }
  let negative = (bitcast<u32>(x) >> 31u) == 1u;
  if (iy == 0x7f800000u) {
    if (ix == 0x3f800000u) { return 1.0; }
    return select(0.0, @inf(), (ix > 0x3f800000u) == (y > 0.0));
  }
  if (ix == 0u || ix == 0x7f800000u) {
    let size = select(0.0, @inf(), (ix == 0u) == (y < 0.0));
    return select(size, -size, negative && parity == 1u);
  }
  if (negative && parity == 0u) { return @nan(); }
  let sign = select(1.0, -1.0, negative && parity == 1u);
  if (ix == 0x3f800000u) { return sign; }
  // log2(ax) = t1 + t2 in 24 + 24 bits.
  let subnormal = ix < 0x00800000u;
  let scaled = bitcast<u32>(select(ax, ax * 16777216.0, subnormal));
  var n = i32(scaled >> 23u) - 127 - select(0, 24, subnormal);
  let j = scaled & 0x007fffffu;
  var m = j | 0x3f800000u;
  var upper = false;
  if (j > 0x1cc471u) {
    if (j < 0x5db3d7u) { upper = true; } else { n += 1; m -= 0x00800000u; }
  }
  let a = bitcast<f32>(m);
  let bp = select(1.0, 1.5, upper);
  let u = a - bp;
  let v = 1.0 / (a + bp);
  let ss = u * v;
  let s_h = bitcast<f32>(bitcast<u32>(ss) & 0xfffff000u);
  let t_hi = bitcast<f32>((((m >> 1u) & 0xfffff000u) | 0x20000000u) + 0x00400000u + select(0u, 0x00200000u, upper));
  let t_lo = a - (t_hi - bp);
  let s_l = v * ((u - s_h * t_hi) - s_h * t_lo);
  let s2 = ss * ss;
  var r = s2 * s2 * (6.0000002384e-1 + s2 * (4.2857143283e-1 + s2 * (3.3333334327e-1 + s2 * (2.7272811532e-1 + s2 * (2.3066075146e-1 + s2 * 2.0697501302e-1)))));
  r += s_l * (s_h + ss);
  let sh2 = s_h * s_h;
  let th = bitcast<f32>(bitcast<u32>(3.0 + sh2 + r) & 0xfffff000u);
  let tl = r - ((th - 3.0) - sh2);
  let uu = s_h * th;
  let vv = s_l * th + tl * ss;
  let p_h = bitcast<f32>(bitcast<u32>(uu + vv) & 0xfffff000u);
  let p_l = vv - (p_h - uu);
  let z_h = 9.6191406250e-1 * p_h;
  let z_l = -1.1736857402e-4 * p_h + p_l * 9.6179670095e-1 + select(0.0, 1.56322085e-06, upper);
  let dp_h = select(0.0, 5.84960938e-01, upper);
  let nf = f32(n);
  let t1 = bitcast<f32>(bitcast<u32>(((z_h + z_l) + dp_h) + nf) & 0xfffff000u);
  let t2 = z_l - (((t1 - nf) - dp_h) - z_h);
  // y * log2(ax) = product_h + product_l; beyond these bounds the result over- or underflows.
  let y1 = bitcast<f32>(bitcast<u32>(y) & 0xfffff000u);
  let whole = y * (t1 + t2);
  if (whole > 130.0) { return sign * @inf(); }
  if (whole < -152.0) { return sign * 0.0; }
  let product_l = (y - y1) * t1 + y * t2;
  let product_h = y1 * t1;
  let z = product_h + product_l;
  let k = round(z);
  let rest_h = product_h - k;
  let t = bitcast<f32>(bitcast<u32>(product_l + rest_h) & 0xffff8000u);
  let e_h = t * 6.93145752e-01;
  let e_l = (product_l - (t - rest_h)) * 6.9314718246e-01 + t * 1.42860654e-06;
  let e = e_h + e_l;
  let w = e_l - (e - e_h);
  let q = e * e;
  let poly = e - q * (1.6666667163e-1 + q * (-2.7777778450e-3 + q * (6.6137559770e-5 + q * (-1.6533901999e-6 + q * 4.1381369442e-8))));
  let res = (e * poly) / (poly - 2.0) - (w + e * w);
  return sign * @scale(1.0 - (res - e), i32(k));
}`,
  },
};
