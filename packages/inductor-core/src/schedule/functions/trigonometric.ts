/**
 * @file Sine, cosine, tangent and their inverses; polynomials of Cephes (S. Moshier), `sinf` and `asinf`.
 *
 * Of angles up to 4096, quarter turns are taken in three parts (Cody and Waite).
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const TRIGONOMETRIC: FunctionTable = {
  sin_core: {
    text: `fn sin_core(r: f32) -> f32 {
  let z = r * r;
  return ((-1.9515295891e-4 * z + 8.3321608736e-3) * z + -1.6666654611e-1) * z * r + r;
}`,
  },
  cos_core: {
    text: `fn cos_core(r: f32) -> f32 {
  let z = r * r;
  return ((2.443315711809948e-5 * z + -1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
}`,
  },
  /** The sine of r in [-π/4, π/4] and a number of quarter turns. */
  turned: {
    text: `fn turned(r: f32, quarters: i32) -> f32 {
  let y = select(@sin_core(r), @cos_core(r), (quarters & 1) == 1);
  return select(y, -y, (quarters & 2) == 2);
}`,
  },
  /** The sine of an angle up to 4096 and a number of quarter turns. */
  near_turned: {
    text: `fn near_turned(x: f32, more: i32) -> f32 {
  let n = round(x * 0.63661977);
  return @turned(((x - n * 1.5703125) - n * 4.837512969970703125e-4) - n * 7.54978995489188216e-8, i32(n) + more);
}`,
  },
  /** The sine of any finite angle and a number of quarter turns. */
  far_turned: {
    called: true,
    text: `fn far_turned(x: f32, more: i32) -> f32 {
  let turns = @payne_hanek(x);
  // Fraction of a quarter turn in 64 bits, taken as signed: [-1/2, 1/2).
  var low = turns.x << 2u;
  var high = (turns.y << 2u) | (turns.x >> 30u);
  let below = (high >> 31u) == 1u;
  if (below) {
    high = ~high + select(0u, 1u, low == 0u);
    low = ~low + 1u;
  }
  let rest = (f32(high) * 2.3283064365386963e-10 + f32(low) * 5.421010862427522e-20) * 1.57079633;
  let count = (turns.y >> 30u) + ((turns.y >> 29u) & 1u);
  return @turned(select(rest, -rest, below != (x < 0.0)), i32(select(count, 4u - count, x < 0.0)) + more);
}`,
  },
  /** The sine of anything and a number of quarter turns. */
  any_turned: {
    text: `fn any_turned(x: f32, more: i32) -> f32 {
  var y = @near_turned(x, more);
  let far = abs(x) > 4096.0;
  if (any(far)) { y = select(y, @far_turned(x, more), far); }
  return select(y, @nan(), @is_nan(x) | @is_inf(x));
}`,
  },
  sin: {
    ulp: 3,
    text: `fn sin(x: f32) -> f32 { return select(@any_turned(x, 0), x, x == 0.0); }`,
  },
  cos: {
    ulp: 3,
    text: `fn cos(x: f32) -> f32 { return @any_turned(x, 1); }`,
  },
  tan: {
    ulp: 5,
    text: `fn tan(x: f32) -> f32 {
  let y = @any_turned(x, 0) / @any_turned(x, 1);
  return select(select(y, x, x == 0.0), @nan(), @is_nan(x) | @is_inf(x));
}`,
  },
  atan: {
    ulp: 3,
    text: `fn atan(x: f32) -> f32 {
  let a = abs(x);
  let steep = a > 2.41421356;
  let middle = a > 0.414213562;
  let t = select(select(a, (a - 1.0) / (a + 1.0), middle), -1.0 / a, steep);
  let base = select(select(0.0, 0.785398163, middle), 1.57079633, steep);
  let z = t * t;
  let p = (((8.05374449538e-2 * z + -1.38776856032e-1) * z + 1.99777106478e-1) * z + -3.33329491539e-1) * z * t + t;
  let y = base + p;
  return select(select(y, -y, x < 0.0), x, (x == 0.0) | @is_nan(x));
}`,
  },
  atan2: {
    ulp: 4,
    text: `fn atan2(y: f32, x: f32) -> f32 {
  let ax = abs(x);
  let ay = abs(y);
  let swap = ay > ax;
  let both_infinite = @is_inf(x) & @is_inf(y);
  // WGSL may give 0 for a quotient by more than 2^126.
  let shrink = select(1.0, 5.421010862427522e-20, max(ax, ay) > 1e30);
  let ratio = select((min(ax, ay) * shrink) / (max(ax, ay) * shrink), 1.0, both_infinite);
  let inner = @atan(select(ratio, 0.0, (ax == 0.0) & (ay == 0.0)));
  var angle = select(inner, 1.57079633 - inner, swap);
  let left = (bitcast<u32>(x) >> 31u) == 1u;
  angle = select(angle, 3.14159265 - angle, left);
  let signed = bitcast<f32>(bitcast<u32>(angle) | (bitcast<u32>(y) & 0x80000000u));
  return select(signed, @nan(), @is_nan(x) | @is_nan(y));
}`,
  },
  /** asin(x) for |x| up to 1/2. */
  asin_core: {
    text: `fn asin_core(x: f32) -> f32 {
  let z = x * x;
  var p = 4.2163199048e-2;
  p = p * z + 2.4181311049e-2;
  p = p * z + 4.5470025998e-2;
  p = p * z + 7.4953002686e-2;
  p = p * z + 1.6666752422e-1;
  return p * z * x + x;
}`,
  },
  asin: {
    ulp: 3,
    text: `fn asin(x: f32) -> f32 {
  let a = abs(x);
  let big = a > 0.5;
  let t = select(a, sqrt(max(0.5 * (1.0 - a), 0.0)), big);
  let p = @asin_core(t);
  let y = select(p, 1.57079633 - 2.0 * p, big);
  let signed = select(select(y, -y, x < 0.0), x, x == 0.0);
  return select(signed, @nan(), (a > 1.0) | @is_nan(x));
}`,
  },
  acos: {
    ulp: 3,
    text: `fn acos(x: f32) -> f32 {
  let a = abs(x);
  let big = a > 0.5;
  let t = select(x, sqrt(max(0.5 * (1.0 - a), 0.0)), big);
  let p = @asin_core(t);
  let outer = select(2.0 * p, 3.14159265 - 2.0 * p, x < 0.0);
  return select(select(1.57079633 - p, outer, big), @nan(), (a > 1.0) | @is_nan(x));
}`,
  },
};
