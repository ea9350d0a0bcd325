/**
 * @file Trigonometric functions of f64 and their inverses; splits and polynomials are FreeBSD's (`k_sin.c`, `k_cos.c`,
 * `s_atan.c`).
 *
 * Angles beyond 2²⁰ quarter turns are left to the host (JavaScript's `Math`), which takes one element at a time.
 */
import type { FunctionTable } from './program.js';

/** What `f` is, where |x| is not too large for `near`. */
function withFar(f: 'sin' | 'cos' | 'tan', near: string): string {
  return `fn ${f}_f64(x: f64) -> f64 {
  var y = ${near};
  let far = !(abs(x) < 1647099.0);
  if (any(far)) { y = select(y, ${f}(x), far); }
  return y;
}`;
}

/** See the file header. */
export const DOUBLE_ANGLES: FunctionTable = {
  /** sin(r + tail) for |r| ≤ π/4. */
  sine_f64: {
    text: `fn sine_f64(r: f64, tail: f64) -> f64 {
  let z = r * r;
  let v = z * r;
  let q = poly(z, 0.00833333333332249, -0.00019841269829857949, 2.7557313707070068e-6, -2.5050760253406863e-8, 1.58969099521155e-10);
  return r - ((z * (0.5 * tail - v * q) - tail) - v * -0.16666666666666632);
}`,
  },
  /** cos(r + tail) for |r| ≤ π/4. */
  cosine_f64: {
    text: `fn cosine_f64(r: f64, tail: f64) -> f64 {
  let z = r * r;
  let half = 0.5 * z;
  let w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * z * poly(z, 0.0416666666666666, -0.001388888888887411, 2.480158728947673e-5, -2.7557314351390663e-7, 2.087572321298175e-9, -1.1359647557788195e-11) - r * tail));
}`,
  },
  /** The sine of x and a number of quarter turns, or the tangent of x if that is 2: of π/2 there are 118 bits. */
  turned_f64: {
    called: true,
    text: `fn turned_f64(x: f64, more: f64) -> f64 {
  let quarters = x * 0.6366197723675814 + 6755399441055744.0;
  let n = quarters - 6755399441055744.0;
  let first = x - n * 1.5707963267341256;
  let second = n * 6.077100506303966e-11;
  let above = first - second;
  let below = n * 2.0222662487959506e-21 - ((first - above) - second);
  let r = above - below;
  let tail = (above - r) - below;
  let s = @sine_f64(r, tail);
  let c = @cosine_f64(r, tail);
  let bits = bitcast<i64>(quarters + more);
  let odd = (bits & 1) == 1;
  let y = select(s, c, odd);
  let turned = bitcast<f64>(bitcast<i64>(y) ^ ((bits & 2) << 62u));
  return select(turned, select(s / c, -c / s, odd), more == 2.0);
}`,
  },
  sin_f64: { ulp: 1, called: true, text: withFar('sin', '@turned_f64(x, f64(0.0))') },
  cos_f64: { ulp: 1, called: true, text: withFar('cos', '@turned_f64(x, f64(1.0))') },
  tan_f64: { ulp: 3, called: true, text: withFar('tan', '@turned_f64(x, f64(2.0))') },
  /** The arc tangent of a ≥ 0: of a itself, from π/4 or from π/2 on. */
  atan_size_f64: {
    called: true,
    text: `fn atan_size_f64(a: f64) -> f64 {
  let middle = a >= 0.4375;
  let large = a >= 2.4375;
  let t = select(select(a, a - 1.0, middle), -1.0, large) / select(select(f64(1.0), a + 1.0, middle), a, large);
  let high = select(select(f64(0.0), 0.7853981633974483, middle), 1.5707963267948966, large);
  let low = select(select(f64(0.0), 3.061616997868383e-17, middle), 6.123233995736766e-17, large);
  let z = t * t;
  let p = z * poly(z, 0.3333333333333293, -0.19999999999876483, 0.14285714272503466, -0.11111110405462356, 0.09090887133436507, -0.0769187620504483, 0.06661073137387531, -0.058335701337905735, 0.049768779946159324, -0.036531572744216916, 0.016285820115365782);
  return high - ((t * p - low) - t);
}`,
  },
  atan_f64: {
    ulp: 1,
    text: 'fn atan_f64(x: f64) -> f64 { return @with_sign(@atan_size_f64(abs(x)), x); }',
  },
  asin_f64: {
    ulp: 3,
    text: `fn asin_f64(x: f64) -> f64 {
  return @atan_f64(x / sqrt((1.0 - x) * (1.0 + x)));
}`,
  },
  acos_f64: {
    ulp: 3,
    text: `fn acos_f64(x: f64) -> f64 {
  return 2.0 * @atan_size_f64(sqrt((1.0 - x) / (1.0 + x)));
}`,
  },
  atan2_f64: {
    ulp: 2,
    called: true,
    text: `fn atan2_f64(y: f64, x: f64) -> f64 {
  let zero = (abs(y) == 0.0) & (abs(x) == 0.0);
  let infinite = (abs(y) == @inf64()) & (abs(x) == @inf64());
  let angle = @atan_size_f64(select(select(abs(y) / abs(x), 1.0, infinite), 0.0, zero));
  // The sign bit of x decides, so that -0 counts as negative; π/2 is its own reflection.
  let left = (bitcast<i64>(x) < 0) & ((x != 0.0) | zero);
  return @with_sign(select(angle, 3.141592653589793 - (angle - 1.2246467991473532e-16), left), y);
}`,
  },
};
