/**
 * @file f32 functions by way of f64, for targets that have it: within 1 ulp over all inputs.
 *
 * Each widens its arguments, computes with `wide-parts.ts` and rounds once. Special values follow IEEE 754 and C's libm.
 */
import type { FunctionRow, FunctionTable } from './program.js';

/** A power of anything, given that of |x| where both are finite and x is not 0. */
export function powerOfAnything(type: 'f32' | 'f64', suffix: '' | '_f64'): FunctionRow {
  const [bits, infinity, nan] =
    type === 'f32' ? ['i32', '@inf()', '@nan()'] : ['i64', '@inf64()', '@nan64()'];
  return {
    called: true,
    text: `fn pow_any${suffix}(x: ${type}, y: ${type}, finite: ${type}) -> ${type} {
  let size = abs(x);
  // |x| of 0 and ∞: 0 or ∞, by the sign of y; so does y = ±∞, by |x| against 1.
  let edge = (x == 0.0) | (size == ${infinity});
  let unbounded = abs(y) == ${infinity};
  let overflow = select(1.0 / size, size, y > 0.0);
  let grows = (y < 0.0) != (size > 1.0);
  let magnitude = select(select(finite, overflow, edge), select(${type}(0.0), ${infinity}, grows), unbounded);
  // Negative x: the sign of an odd integer power; NaN for powers between integers.
  let whole = trunc(y) == y;
  let half = y * 0.5;
  let odd = whole & !(trunc(half) == half);
  let signed = select(magnitude, -magnitude, odd & (bitcast<${bits}>(x) < 0));
  let between = (x < 0.0) & !whole & !(unbounded | edge);
  let one = (y == 0.0) | (x == 1.0) | (unbounded & (x == -1.0));
  return select(select(signed, ${nan}, between | (x != x) | (y != y)), 1.0, one);
}`,
  };
}

/** See the file header. */
export const WIDE_FUNCTIONS: FunctionTable = {
  exp2: {
    ulp: 1,
    called: true,
    text: `fn exp2(x: f32) -> f32 {
  return f32(@wide_exp(f64(x) * 0.6931471805599453));
}`,
  },
  log2: {
    ulp: 1,
    called: true,
    text: `fn log2(x: f32) -> f32 {
  return f32(@wide_log_any(f64(x)) * 1.4426950408889634);
}`,
  },
  sin: {
    ulp: 1,
    called: true,
    text: `fn sin(x: f32) -> f32 {
  let w = f64(x);
  var quarters = @wide_quarters(w);
  var r = @wide_rest(w, quarters);
  let far = (abs(x) >= 1048576.0) & (abs(x) < @inf());
  if (any(far)) {
    quarters = select(quarters, f64(@far_count(x)) + 6755399441055744.0, far);
    r = select(r, @wide_far_rest(x), far);
  }
  return f32(select(@wide_turned(r, quarters), w, w == 0.0));
}`,
  },
  cos: {
    ulp: 1,
    called: true,
    text: `fn cos(x: f32) -> f32 {
  let w = f64(x);
  var quarters = @wide_quarters(w);
  var r = @wide_rest(w, quarters);
  let far = (abs(x) >= 1048576.0) & (abs(x) < @inf());
  if (any(far)) {
    quarters = select(quarters, f64(@far_count(x)) + 6755399441055744.0, far);
    r = select(r, @wide_far_rest(x), far);
  }
  return f32(@wide_turned(r, quarters + 1.0));
}`,
  },
  tan: {
    ulp: 1,
    called: true,
    text: `fn tan(x: f32) -> f32 {
  let w = f64(x);
  var quarters = @wide_quarters(w);
  var r = @wide_rest(w, quarters);
  let far = (abs(x) >= 1048576.0) & (abs(x) < @inf());
  if (any(far)) {
    quarters = select(quarters, f64(@far_count(x)) + 6755399441055744.0, far);
    r = select(r, @wide_far_rest(x), far);
  }
  let odd = (bitcast<i64>(quarters) & 1) == 1;
  let s = @wide_sine(r);
  let c = @wide_cosine(r);
  return f32(select(select(s, -c, odd) / select(c, s, odd), w, w == 0.0));
}`,
  },
  asin: {
    ulp: 1,
    called: true,
    text: `fn asin(x: f32) -> f32 {
  let w = f64(x);
  return f32(@wide_atan(w / sqrt((1.0 - w) * (1.0 + w))));
}`,
  },
  acos: {
    ulp: 1,
    called: true,
    text: `fn acos(x: f32) -> f32 {
  let w = f64(x);
  return f32(2.0 * @wide_atan(sqrt((1.0 - w) / (1.0 + w))));
}`,
  },
  atan: {
    ulp: 1,
    called: true,
    text: `fn atan(x: f32) -> f32 {
  return f32(@wide_atan(f64(x)));
}`,
  },
  /** Where the difference would lose bits, the result is x. */
  sinh: {
    ulp: 1,
    called: true,
    text: `fn sinh(x: f32) -> f32 {
  let w = f64(x);
  let e = @wide_exp(w);
  return f32(select((e - 1.0 / e) * 0.5, w, abs(w) < 2e-4));
}`,
  },
  cosh: {
    ulp: 1,
    called: true,
    text: `fn cosh(x: f32) -> f32 {
  let e = @wide_exp(f64(x));
  return f32((e + 1.0 / e) * 0.5);
}`,
  },
  atan2: {
    ulp: 1,
    called: true,
    text: `fn atan2(y: f32, x: f32) -> f32 {
  let a = f64(y);
  let b = f64(x);
  let both_zero = (abs(a) == 0.0) & (abs(b) == 0.0);
  let both_infinite = (abs(a) == @inf64()) & (abs(b) == @inf64());
  let ratio = abs(a) / abs(b);
  let angle = @wide_atan(select(select(ratio, 1.0, both_infinite), 0.0, both_zero));
  // The sign bit of x decides, so that -0 counts as negative.
  return f32(@with_sign(select(angle, 3.141592653589793 - angle, bitcast<i64>(b) < 0), a));
}`,
  },
  pow: {
    ulp: 1,
    called: true,
    text: `fn pow(x: f32, y: f32) -> f32 {
  var r = f32(@wide_exp(f64(y) * @wide_log(f64(abs(x)))));
  if (any(!((x > 0.0) & (x < @inf()) & (abs(y) < @inf())))) { r = @pow_any(x, y, r); }
  return r;
}`,
  },
  pow_any: powerOfAnything('f32', ''),
};
