/**
 * @file The incomplete gamma functions in f32, and what the densities of gamma, Poisson and binomial variables are made of.
 *
 * Only programs that call them carry them: they are a table of their own, beside `SCALAR_FUNCTIONS`. Sums go on until
 * what follows does not show; where they would be long (near x = a, for a above 20) Temme's expansion has a few terms.
 * Differences of large numbers are avoided by `deviance`. @see Loader, "Fast and accurate computation of binomial
 * probabilities", 2000; Temme, "Uniform asymptotic expansions of the incomplete gamma functions"
 */
import type { FunctionTable } from './program.js';

/** See the file header. */
export const GAMMA_FUNCTIONS: FunctionTable = {
  /** k log(k / mean) + mean - k without cancellation, where diff is k - mean; k and mean above 0. */
  deviance: {
    called: true,
    text: `fn deviance(k: f32, mean: f32, diff: f32) -> f32 {
  let v = diff / (k + mean);
  if (abs(v) > 0.5) { return k * @log(k / mean) - diff; }
  let w = v * v;
  let series = poly(w, 0.33333333, 0.2, 0.14285714, 0.11111111, 0.09090909, 0.07692308, 0.06666667, 0.05882353, 0.05263158, 0.04761905, 0.04347826);
  return v * (diff + 2.0 * k * w * series);
}`,
  },
  /** log Γ(k + 1) less (k + 1/2) log k - k + log(2π) / 2, for k from 8. */
  stirling_rest: {
    text: `fn stirling_rest(k: f32) -> f32 {
  let r = 1.0 / (k * k);
  return poly(r, 0.083333333, -0.0027777778, 7.9365079e-4, -5.9523810e-4) / k;
}`,
  },
  /** 1 / Γ(1 + a) - 1 for a from 0 to 1.25. */
  inverse_gamma_less: {
    called: true,
    text: `fn inverse_gamma_less(a: f32) -> f32 {
  return a * poly(a, 0.57721566, -0.65587807, -0.042002635, 0.16653861, -0.042197735, -0.0096219715, 0.0072189432, -0.0011651676, -2.1524167e-4, 1.2805028e-4, -2.0134855e-5, -1.2504935e-6, 1.1330272e-6, -2.0563384e-7, 6.1160950e-9, 5.0020075e-9, -1.1812746e-9);
}`,
  },
  /** xᵃ e⁻ˣ / Γ(a) for positive a and x. */
  gamma_density: {
    called: true,
    text: `fn gamma_density(a: f32, x: f32) -> f32 {
  if (a >= 8.0) {
    return @exp(-@deviance(a, x, a - x) - @stirling_rest(a)) * sqrt(a * 0.15915494);
  }
  var inverse = a * (1.0 + @inverse_gamma_less(a));
  if (a >= 1.0) {
    var rest = a;
    var product = 1.0;
    while (rest >= 2.0) {
      rest -= 1.0;
      product *= rest;
    }
    inverse = (1.0 + @inverse_gamma_less(rest - 1.0)) / product;
  }
  return @exp(a * @log(x) - x) * inverse;
}`,
  },
  /** The lower function as a series, for x up to about a. */
  lower_gamma_series: {
    called: true,
    text: `fn lower_gamma_series(a: f32, x: f32) -> f32 {
  var term = 1.0;
  var sum = 1.0;
  var n = a + 1.0;
  var steps = 0;
  while ((term > 3e-8 * sum) & (steps < 500)) {
    term *= x / n;
    sum += term;
    n += 1.0;
    steps += 1;
  }
  return @gamma_density(a, x) * sum / a;
}`,
  },
  /** The upper function as a series, for x up to 1.1 and a up to 1.25. */
  upper_gamma_series: {
    called: true,
    text: `fn upper_gamma_series(a: f32, x: f32) -> f32 {
  var factor = 1.0;
  var sum = 0.0;
  var n = 1.0;
  while (n < 30.0) {
    factor *= -x / n;
    sum += factor / (a + n);
    n += 1.0;
  }
  let less = @inverse_gamma_less(a);
  let power = a * @log(x) + @log1p(less);
  return -@expm1(power) - @exp(power) * a * sum;
}`,
  },
  /** The upper function as a continued fraction, for x from about a; Lentz's method. */
  upper_gamma_fraction: {
    called: true,
    text: `fn upper_gamma_fraction(a: f32, x: f32) -> f32 {
  var b = x + 1.0 - a;
  var c = 1e30;
  var d = 1.0 / b;
  var h = d;
  var n = 1.0;
  var change = 0.0;
  while ((abs(change - 1.0) > 1e-7) & (n < 500.0)) {
    let by = n * (a - n);
    b += 2.0;
    d = 1.0 / (by * d + b);
    c = b + by / c;
    change = c * d;
    h *= change;
    n += 1.0;
  }
  return @gamma_density(a, x) * h;
}`,
  },
  /** Temme's expansion near x = a, for a above 20. */
  gamma_near: {
    called: true,
    text: `fn gamma_near(a: f32, x: f32, upper: bool) -> f32 {
  let distance = @deviance(a, x, a - x);
  let z = sqrt(distance);
  let beyond = x >= a;
  let eta = select(-1.0, 1.0, beyond) * sqrt(2.0 * distance / a);
  let first = poly(eta, -0.33333333, 0.083333333, -0.014814815, 0.0011574074, 3.5273369e-4, -1.7875514e-4, 3.9192632e-5);
  let second = poly(eta, -0.0018518519, -0.0034722222, 0.0026455026, -9.9022634e-4, 2.0576132e-4);
  let third = poly(eta, 0.0041335979, -0.0026813272, 7.7160494e-4);
  let series = first + (second + (third + 6.4943416e-4 / a) / a) / a;
  let more = @exp(-distance) * sqrt(0.15915494 / a) * series;
  // Half of erfc(z).
  let t = 1.0 / (1.0 + 0.5 * z);
  let power = poly(t, -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277);
  let tail = 0.5 * t * @exp(power - distance) + select(-more, more, beyond);
  return select(1.0 - tail, tail, beyond == upper);
}`,
  },
  /** γ(a, x) / Γ(a), or with `upper` what it leaves of 1. NaN and infinities in PyTorch's order. */
  incomplete_gamma: {
    called: true,
    text: `fn incomplete_gamma(a: f32, x: f32, upper: bool) -> f32 {
  let no_a = @is_nan(a);
  let no_x = @is_nan(x);
  let all = select(1.0, 0.0, upper);
  if ((!no_a & (a < 0.0)) | (!no_x & (x < 0.0))) { return @nan(); }
  if (!no_a & (a == 0.0)) { return select(@nan(), all, !no_x & (x > 0.0)); }
  if (!no_x & (x == 0.0)) { return 1.0 - all; }
  if (@is_inf(a)) { return select(1.0 - all, @nan(), @is_inf(x)); }
  if (@is_inf(x)) { return all; }
  if (no_a | no_x) { return @nan(); }
  if ((a > 20.0) & (abs(x - a) < 0.3 * a)) { return @gamma_near(a, x, upper); }
  let is_large = x > 1.1;
  if (!upper & ((x <= a) | !is_large)) { return @lower_gamma_series(a, x); }
  let by_upper = select(select(x * 1.1 >= a, -0.4 / @log(x) >= a, x <= 0.5), x > a, is_large);
  if (!by_upper) { return 1.0 - @lower_gamma_series(a, x); }
  var rest = 0.0;
  if (is_large) { rest = @upper_gamma_fraction(a, x); } else { rest = @upper_gamma_series(a, x); }
  return select(1.0 - rest, rest, upper);
}`,
  },
  igamma: {
    called: true,
    text: 'fn igamma(a: f32, x: f32) -> f32 { return @incomplete_gamma(a, x, 0 == 1); }',
  },
  igammac: {
    called: true,
    text: 'fn igammac(a: f32, x: f32) -> f32 { return @incomplete_gamma(a, x, 0 == 0); }',
  },
  /** log α - ψ(α) for positive α. */
  digamma_rest: {
    called: true,
    text: `fn digamma_rest(alpha: f32) -> f32 {
  var y = alpha;
  var below = 0.0;
  while (y < 8.0) {
    below += 1.0 / y;
    y += 1.0;
  }
  let r = 1.0 / (y * y);
  let rest = 0.5 / y + r * poly(r, 0.083333333, -0.0083333333, 0.0039682540);
  return select(below + rest - @log(y / alpha), rest, alpha >= 8.0);
}`,
  },
  /** The change of the quantile x by α, of the lower tail's series, for α up to 30. */
  gamma_slope_series: {
    called: true,
    text: `fn gamma_slope_series(alpha: f32, x: f32) -> f32 {
  var term = 1.0;
  var sum = 1.0;
  var harmonic = 0.0;
  var weighed = 0.0;
  var n = alpha + 1.0;
  var steps = 0;
  while ((term * (1.0 + harmonic) > 1e-8 * weighed) & (steps < 300)) {
    term *= x / n;
    harmonic += 1.0 / n;
    sum += term;
    weighed += term * harmonic;
    n += 1.0;
    steps += 1;
  }
  let above = alpha + 1.0;
  // No quotient: that of the least number would not be a normal one.
  let logarithm = @log(x) - @log(above) + @digamma_rest(above);
  return x / alpha * (weighed - logarithm * sum);
}`,
  },
  /**
   * dx/dα of a gamma-distributed x while its place in the distribution stays. The tails are integrals relative to the
   * density at x, over v = exp(u - exp(-u)) by the trapezoid rule in u, in units in which the integrand fades out.
   */
  gamma_slope: {
    called: true,
    text: `fn gamma_slope(alpha: f32, x: f32) -> f32 {
  if (@is_nan(alpha) | @is_nan(x)) { return @nan(); }
  if (!(alpha > 0.0) | (x < 0.0)) { return @nan(); }
  if (x == 0.0) { return 0.0; }
  let is_upper = x > alpha + 1.0;
  if (!is_upper & (alpha < 30.0)) { return @gamma_slope_series(alpha, x); }
  let ratio = (x - alpha) / alpha;
  let mean = @digamma_rest(alpha) + select(@log(x / alpha), @log1p(ratio), abs(ratio) < 0.5);
  let falling = select(alpha - x, x + 1.0 - alpha, is_upper);
  let scale = 1.0 / (max(falling, 0.0) + sqrt(select(x, alpha, is_upper)));
  var total = 0.0;
  var node = 0;
  while (node < 56) {
    let u = -3.0 + 0.13 * f32(node);
    let shrink = @exp(-u);
    let w = @exp(u - shrink);
    let r = w * scale;
    var power = 0.0;
    var value = 0.0;
    if (is_upper) {
      power = (1.0 - alpha) * @deviance(1.0, 1.0 + r, -r) - r * falling;
      value = mean + @log1p(r);
    } else {
      let near = r * r * poly(r, 0.5, -0.16666667, 0.041666667, -0.0083333333, 0.0013888889, -1.9841270e-4, 2.4801587e-5);
      power = -falling * r - x * select(r + @expm1(-r), near, r < 0.5);
      value = r - mean;
    }
    total += @exp(power) * value * w * (1.0 + shrink);
    node += 1;
  }
  return total * 0.13 * x * scale;
}`,
  },
};
