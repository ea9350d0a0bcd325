/**
 * @file sin, cos, tan and their inverses to about 2 ulp; WGSL's own may be off by 2^-11.
 *
 * Arguments are reduced modulo π/2: in three parts (Cody and Waite) up to 4096, and beyond that by
 * Payne and Hanek's product with the bits of 2/π, exact for every f32. Polynomials are Cephes'.
 */
import type { HelperTable } from './helper-source.js';

/** Reduction of x by multiples of π/2: `quarter_rest` in [-π/4, π/4], `quarter_count` modulo 4. */
const REDUCTION: HelperTable = {
  /** Low and high words of |x|·2/π modulo 4 as a 64-bit fixed-point number, two bits before the point. */
  payne_hanek: {
    type: 'f32',
    lanewise: true,
    module: `const TWO_OVER_PI = array<u32, 7>(0u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u);`,
    text: `fn @payne_hanek(x: f32) -> vec2u {
  let bits = bitcast<u32>(x);
  let exponent = ((bits >> 23u) & 0xffu) - 126u;
  let mantissa = (bits << 8u) | 0x80000000u;
  let word = exponent >> 5u;
  let shift = exponent & 31u;
  var table = TWO_OVER_PI;
  var high = table[word];
  var middle = table[word + 1u];
  var low = table[word + 2u];
  if (shift != 0u) {
    high = (high << shift) | (middle >> (32u - shift));
    middle = (middle << shift) | (low >> (32u - shift));
    low = (low << shift) | (table[word + 3u] >> (32u - shift));
  }
  let carry = @mul_high(mantissa, low);
  let sum = mantissa * middle + carry;
  return vec2u(sum, mantissa * high + @mul_high(mantissa, middle) + select(0u, 1u, sum < carry));
}`,
  },
  far_rest: {
    type: 'f32',
    lanewise: true,
    text: `fn @far_rest(x: f32) -> f32 {
  let turns = @payne_hanek(x);
  // Fraction of a quarter turn in 64 bits, taken as signed: [-1/2, 1/2).
  var p = vec2u(turns.x << 2u, (turns.y << 2u) | (turns.x >> 30u));
  let below = (p.y >> 31u) == 1u;
  if (below) { p = vec2u(~p.x + 1u, ~p.y + select(0u, 1u, p.x == 0u)); }
  let rest = (f32(p.y) * 2.3283064365386963e-10 + f32(p.x) * 5.421010862427522e-20) * 1.57079633;
  return select(rest, -rest, below != (x < 0.0));
}`,
  },
  far_count: {
    type: 'f32',
    lanewise: true,
    text: `fn @far_count(x: f32) -> f32 {
  let top = @payne_hanek(x).y;
  let count = (top >> 30u) + ((top >> 29u) & 1u);
  return f32(select(count, 4u - count, x < 0.0) & 3u);
}`,
  },
  quarter_count: {
    type: 'f32',
    text: `fn @quarter_count(x: F) -> I {
  var n = round(x * F(0.63661977));
  let far = abs(x) > F(4096.0);
  if (any(far)) { n = select(n, @far_count(x), far); }
  return I(n) & I(3);
}`,
  },
  quarter_rest: {
    type: 'f32',
    text: `fn @quarter_rest(x: F) -> F {
  let n = round(x * F(0.63661977));
  var r = ((x - n * F(1.5703125)) - n * F(4.837512969970703125e-4)) - n * F(7.54978995489188216e-8);
  let far = abs(x) > F(4096.0);
  if (any(far)) { r = select(r, @far_rest(x), far); }
  return r;
}`,
  },
};

/** See the file header. */
export const TRIGONOMETRIC: HelperTable = {
  ...REDUCTION,
  sin_core: {
    type: 'f32',
    text: `fn @sin_core(r: F) -> F {
  let z = r * r;
  return ((F(-1.9515295891e-4) * z + F(8.3321608736e-3)) * z + F(-1.6666654611e-1)) * z * r + r;
}`,
  },
  cos_core: {
    type: 'f32',
    text: `fn @cos_core(r: F) -> F {
  let z = r * r;
  return ((F(2.443315711809948e-5) * z + F(-1.388731625493765e-3)) * z + F(4.166664568298827e-2)) * z * z - F(0.5) * z + F(1.0);
}`,
  },
  sin: {
    type: 'f32',
    text: `fn @sin(x: F) -> F {
  let q = @quarter_count(x);
  let r = @quarter_rest(x);
  let y = select(@sin_core(r), @cos_core(r), (q & I(1)) == I(1));
  let finite = select(select(y, -y, q >= I(2)), x, x == F(0.0));
  return select(finite, @nan(), @is_nan(x) | @is_inf(x));
}`,
  },
  cos: {
    type: 'f32',
    text: `fn @cos(x: F) -> F {
  let q = @quarter_count(x) + I(1);
  let r = @quarter_rest(x);
  let y = select(@sin_core(r), @cos_core(r), (q & I(1)) == I(1));
  return select(select(y, -y, (q & I(2)) == I(2)), @nan(), @is_nan(x) | @is_inf(x));
}`,
  },
  tan: {
    type: 'f32',
    text: `fn @tan(x: F) -> F {
  let odd = (@quarter_count(x) & I(1)) == I(1);
  let r = @quarter_rest(x);
  let s = @sin_core(r);
  let c = @cos_core(r);
  let y = select(s, -c, odd) / select(c, s, odd);
  return select(select(y, x, x == F(0.0)), @nan(), @is_nan(x) | @is_inf(x));
}`,
  },
  atan: {
    type: 'f32',
    text: `fn @atan(x: F) -> F {
  let a = abs(x);
  let steep = a > F(2.41421356);
  let middle = a > F(0.414213562);
  let t = select(select(a, (a - F(1.0)) / (a + F(1.0)), middle), F(-1.0) / a, steep);
  let base = select(select(F(0.0), F(0.785398163), middle), F(1.57079633), steep);
  let z = t * t;
  let p = (((F(8.05374449538e-2) * z + F(-1.38776856032e-1)) * z + F(1.99777106478e-1)) * z + F(-3.33329491539e-1)) * z * t + t;
  let y = base + p;
  return select(select(y, -y, x < F(0.0)), x, (x == F(0.0)) | @is_nan(x));
}`,
  },
  atan2: {
    type: 'f32',
    text: `fn @atan2(y: F, x: F) -> F {
  let ax = abs(x);
  let ay = abs(y);
  let swap = ay > ax;
  let both_infinite = @is_inf(x) & @is_inf(y);
  // WGSL may give 0 for a quotient by more than 2^126.
  let shrink = select(F(1.0), F(5.421010862427522e-20), max(ax, ay) > F(1e30));
  let ratio = select((min(ax, ay) * shrink) / (max(ax, ay) * shrink), F(1.0), both_infinite);
  let inner = @atan(select(ratio, F(0.0), (ax == F(0.0)) & (ay == F(0.0))));
  var angle = select(inner, F(1.57079633) - inner, swap);
  let left = (bitcast<U>(x) >> U(31u)) == U(1u);
  angle = select(angle, F(3.14159265) - angle, left);
  let signed = bitcast<F>(bitcast<U>(angle) | (bitcast<U>(y) & U(0x80000000u)));
  return select(signed, @nan(), @is_nan(x) | @is_nan(y));
}`,
  },
  /** asin(x) for |x| up to 1/2. */
  asin_core: {
    type: 'f32',
    text: `fn @asin_core(x: F) -> F {
  let z = x * x;
  var p = F(4.2163199048e-2);
  p = p * z + F(2.4181311049e-2);
  p = p * z + F(4.5470025998e-2);
  p = p * z + F(7.4953002686e-2);
  p = p * z + F(1.6666752422e-1);
  return p * z * x + x;
}`,
  },
  asin: {
    type: 'f32',
    text: `fn @asin(x: F) -> F {
  let a = abs(x);
  let big = a > F(0.5);
  let t = select(a, sqrt(max(F(0.5) * (F(1.0) - a), F(0.0))), big);
  let p = @asin_core(t);
  let y = select(p, F(1.57079633) - F(2.0) * p, big);
  let signed = select(select(y, -y, x < F(0.0)), x, x == F(0.0));
  return select(signed, @nan(), (a > F(1.0)) | @is_nan(x));
}`,
  },
  acos: {
    type: 'f32',
    text: `fn @acos(x: F) -> F {
  let a = abs(x);
  let big = a > F(0.5);
  let t = select(x, sqrt(max(F(0.5) * (F(1.0) - a), F(0.0))), big);
  let p = @asin_core(t);
  let outer = select(F(2.0) * p, F(3.14159265) - F(2.0) * p, x < F(0.0));
  return select(select(F(1.57079633) - p, outer, big), @nan(), (a > F(1.0)) | @is_nan(x));
}`,
  },
};
