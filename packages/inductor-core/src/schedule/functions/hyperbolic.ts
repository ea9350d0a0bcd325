/**
 * @file tanh, sigmoid, erf, sinh, cosh: safe from overflow, small relative error near zero.
 *
 * The polynomials of tanh and erf are minimax fits by N. Juffa; sinh and cosh go through expm1 and exp.
 */
import type { FunctionTable } from './function-table.js';

/** See the file header. */
export const HYPERBOLIC: FunctionTable = {
  tanh: {
    ulp: 2.5,
    text: `fn tanh(x: f32) -> f32 {
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
  sigmoid: {
    ulp: 3,
    text: `fn sigmoid(x: f32) -> f32 {
  let e = @exp(-abs(x));
  return select(1.0, e, x < 0.0) / (1.0 + e);
}`,
  },
  erf: {
    ulp: 2,
    text: `fn erf(x: f32) -> f32 {
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
