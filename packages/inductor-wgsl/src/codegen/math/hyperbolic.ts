/**
 * @file tanh, sigmoid, erf, sinh, cosh: safe from overflow, small relative error near zero.
 *
 * The polynomials of tanh and erf are minimax fits by N. Juffa; sinh and cosh go through expm1 and exp.
 */
import type { HelperTable } from './helper-source.js';

/** See the file header. */
export const HYPERBOLIC: HelperTable = {
  tanh: {
    type: 'f32',
    text: `fn @tanh(x: F) -> F {
  let a = abs(x);
  let far = F(1.0) - F(2.0) / (@exp_near(min(a, F(10.0)) * F(2.0)) + F(1.0));
  let s = x * x;
  var p = F(1.57394409e-2);
  p = p * s + F(-5.23025580e-2);
  p = p * s + F(1.33152977e-1);
  p = p * s + F(-3.33327681e-1);
  let near = p * s * x + x;
  let y = select(near, select(far, -far, x < F(0.0)), a >= F(0.55));
  return select(y, x, @is_nan(x));
}`,
  },
  sigmoid: {
    type: 'f32',
    text: `fn @sigmoid(x: F) -> F {
  let e = @exp(-abs(x));
  return select(F(1.0), e, x < F(0.0)) / (F(1.0) + e);
}`,
  },
  erf: {
    type: 'f32',
    text: `fn @erf(x: F) -> F {
  let a = min(abs(x), F(4.0));
  let s = a * a;
  var q = (F(-1.72853470e-5) * a + F(3.83197126e-4)) * s + (F(-3.88396438e-3) * a + F(2.42546219e-2));
  q = q * a + F(-1.06777877e-1);
  q = q * a + F(-6.34846687e-1);
  q = q * a + F(-1.28717512e-1);
  q = q * a - a;
  let far = F(1.0) - @exp_near(q);
  var p = F(-5.96761703e-4);
  p = p * s + F(4.99119423e-3);
  p = p * s + F(-2.67681349e-2);
  p = p * s + F(1.12819925e-1);
  p = p * s + F(-3.76125336e-1);
  p = p * s + F(1.28379166e-1);
  let near = p * x + x;
  let y = select(near, select(far, -far, x < F(0.0)), a > F(0.927734375));
  return select(y, x, @is_nan(x));
}`,
  },
  sinh: {
    type: 'f32',
    text: `fn @sinh(x: F) -> F {
  let a = abs(x);
  let e = @expm1(min(a, F(80.0)));
  let y = select(F(0.5) * (e + e / (e + F(1.0))), @exp_half(a), a > F(80.0));
  return select(select(y, -y, x < F(0.0)), x, (a < F(1e-4)) | @is_nan(x));
}`,
  },
  cosh: {
    type: 'f32',
    text: `fn @cosh(x: F) -> F {
  let a = abs(x);
  let h = @exp_half(min(a, F(40.0)));
  let y = select(h + F(0.25) / h, @exp_half(a), a > F(40.0));
  return select(y, x, @is_nan(x));
}`,
  },
};
