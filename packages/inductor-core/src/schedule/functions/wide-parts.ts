/**
 * @file Parts of the less frequent f32 functions on targets that compute in f64.
 *
 * In f64, polynomials good to about 1e-10 give correctly rounded results nearly always, without the care that f32
 * needs: exponents cannot overflow, denormals are normal, cancellation has 29 spare bits. The polynomials are minimax
 * fits; the bound of each is of its relative error.
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const WIDE_PARTS: FunctionTable = {
  nan64: { text: 'fn nan64() -> f64 { return bitcast<f64>(i64(0x7ff8000000000000)); }' },
  inf64: { text: 'fn inf64() -> f64 { return bitcast<f64>(i64(0x7ff0000000000000)); }' },
  /** The magnitude of a with the sign of b. */
  with_sign: {
    text: `fn with_sign(a: f64, b: f64) -> f64 {
  return bitcast<f64>((bitcast<i64>(a) & 0x7fffffffffffffff) | (bitcast<i64>(b) & -9223372036854775808));
}`,
  },
  /** x·log2 e rounded to an integer, which is in the low mantissa bits, biased as exponents are. */
  wide_exponent: {
    text: `fn wide_exponent(x: f64) -> f64 {
  return x * 1.4426950408889634 + 6755399441056767.0;
}`,
  },
  /** e^r - 1 for the rest r of such a rounding, |r| ≤ ln 2 / 2, to 2e-13. */
  wide_exp_core: {
    text: `fn wide_exp_core(x: f64, biased: f64) -> f64 {
  let r = x - (biased - 6755399441056767.0) * 0.6931471805599453;
  return r + r * r * poly(r, 0.49999999999954746, 0.16666666666662554, 0.041666666786985556, 0.0083333333442683942, 0.0013888838910996057, 0.00019841224418291944, 2.4868002978056964e-5, 2.7617685465165069e-6);
}`,
  },
  /** eˣ, for |x| ≤ 700 (clamped). */
  wide_exp: {
    text: `fn wide_exp(x: f64) -> f64 {
  let c = min(max(x, -700.0), 700.0);
  let biased = @wide_exponent(c);
  let scale = bitcast<f64>(bitcast<i64>(biased) << 52u);
  return @wide_exp_core(c, biased) * scale + scale;
}`,
  },
  /** log x of positive normal numbers, to 1e-13: the exponent is made a float in the mantissa of 2⁵². */
  wide_log: {
    text: `fn wide_log(x: f64) -> f64 {
  let offset = bitcast<i64>(x) + 0x95f619980c433;
  let k = bitcast<f64>((offset >> 52u) | 0x4330000000000000) - 4503599627371519.0;
  let f = bitcast<f64>((offset & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  let s = f / (f + 2.0);
  let z = s * s;
  let twice = s + s;
  return k * 0.6931471805599453 + (twice + twice * (z * poly(z, 0.3333333333369115, 0.1999999939376289, 0.14285878268617283, 0.11095636946812815, 0.096825587974457646)));
}`,
  },
  /** The logarithm of anything: the square root gives what it gives for infinity, NaN and negative numbers. */
  wide_log_any: {
    text: `fn wide_log_any(x: f64) -> f64 {
  let special = select(sqrt(x), -@inf64(), x == 0.0);
  return select(special, @wide_log(x), (x > 0.0) & (x < @inf64()));
}`,
  },
  /** x in quarter turns, rounded to an integer, which is in the low mantissa bits; for |x| < 2²⁰. */
  wide_quarters: {
    text: `fn wide_quarters(x: f64) -> f64 {
  return x * 0.6366197723675814 + 6755399441055744.0;
}`,
  },
  /** The rest of that rounding: π/2 is in two parts, and n times the first is exact. */
  wide_rest: {
    text: `fn wide_rest(x: f64, quarters: f64) -> f64 {
  let n = quarters - 6755399441055744.0;
  return (x - n * 1.5707963267341256) - n * 6.077100506506192e-11;
}`,
  },
  /** Quarter turns in any finite angle, modulo 4. */
  far_count: {
    text: `fn far_count(x: f32) -> f32 {
  let turns = @payne_hanek(x);
  let count = (turns.y >> 30u) + ((turns.y >> 29u) & 1u);
  return f32(select(count, 4u - count, x < 0.0) & 3u);
}`,
  },
  /** What is left of it, from 64 bits of the fraction of a quarter turn, taken as signed. */
  wide_far_rest: {
    text: `fn wide_far_rest(x: f32) -> f64 {
  let turns = @payne_hanek(x);
  var low = turns.x << 2u;
  var high = (turns.y << 2u) | (turns.x >> 30u);
  let below = (high >> 31u) == 1u;
  if (below) {
    high = ~high + select(0u, 1u, low == 0u);
    low = ~low + 1u;
  }
  let rest = (f64(high) * 2.3283064365386963e-10 + f64(low) * 5.421010862427522e-20) * 1.5707963267948966;
  return select(rest, -rest, below != (x < 0.0));
}`,
  },
  /** sin r for |r| ≤ π/4, to 2e-14. */
  wide_sine: {
    text: `fn wide_sine(r: f64) -> f64 {
  let z = r * r;
  return r + r * z * poly(z, -0.16666666666663858, 0.0083333333310611601, -0.00019841266899437399, 2.7555985625200862e-6, -2.4805145406747432e-8);
}`,
  },
  /** cos r for |r| ≤ π/4, to 1e-12. */
  wide_cosine: {
    text: `fn wide_cosine(r: f64) -> f64 {
  let z = r * r;
  return (1.0 - z * 0.5) + z * z * poly(z, 0.041666666664302406, -0.001388888766471362, 2.4800596435621997e-5, -2.7300448619488355e-7);
}`,
  },
  /** The sine of r and a number of quarter turns: odd ones swap it for the cosine, the second bit negates. */
  wide_turned: {
    text: `fn wide_turned(r: f64, quarters: f64) -> f64 {
  let bits = bitcast<i64>(quarters);
  let y = select(@wide_sine(r), @wide_cosine(r), (bits & 1) == 1);
  return bitcast<f64>(bitcast<i64>(y) ^ ((bits & 2) << 62u));
}`,
  },
  /** Arc tangent, to 3e-11. */
  wide_atan: {
    text: `fn wide_atan(x: f64) -> f64 {
  let a = abs(x);
  let large = a > 1.0;
  let t = select(a, 1.0 / a, large);
  let z = t * t;
  let small = t + t * z * poly(z, -0.33333333326944142, 0.19999998154086215, -0.14285624891483526, 0.11109392308322223, -0.090735531189764087, 0.075866528336466699, -0.062463151941283169, 0.047294798621813337, -0.02991311194551696, 0.01407292334469724, -0.0042216579909296478, 0.00059304375563652819);
  return @with_sign(select(small, 1.5707963267948966 - small, large), x);
}`,
  },
};
