/**
 * @file Numbers drawn by rejection in f32: gamma, Poisson and binomial, from the same random words as the reference
 * kernels of `@tessera/tensor` take, in the same order.
 *
 * A number is that of the reference kernels but for rounding; where rounding decides (whether a try is taken, the next
 * whole number) it is another one, in some of 10⁵ elements. What would round most is told apart: the whole part of a mean
 * and the rest of it, logarithms of numbers near 1. Tries are limited, far beyond what ever happens.
 *
 * @see packages/tensor/src/kernels/gamma-sampling.ts, count-sampling.ts
 */
import { PHILOX_ROUNDS } from './philox.js';
import type { FunctionTable } from './program.js';

/** The parameters that say which stream of random words. */
const STREAM = 'seed: u32, offset: u32, index: u32';

/** Rejection with a hat in which u is drawn uniformly: `near` its distance from the edges, `u` itself. */
const HAT = `let word = @stream_word(seed, offset, index, number);
    let v = @unit(@stream_word(seed, offset, index, number + 1u));
    number += 2u;
    tries += 1;
    let near = @unit(min(word, ~word));
    let u = select(near - 0.5, 0.5 - near, word >= 0x80000000u);`;

/** See the file header. */
export const SAMPLING_FUNCTIONS: FunctionTable = {
  /** Word `number` (from 0) of an element's stream: rng/number-stream.ts. */
  stream_word: {
    called: true,
    text: `fn stream_word(${STREAM}, number: u32) -> u32 {
  var c0 = index;
  var c1 = (number >> 2u) + 1u;
  var c2 = offset;
  var c3 = 0u;
  ${PHILOX_ROUNDS}
  let odd = (number & 1u) == 1u;
  return select(select(c0, c1, odd), select(c2, c3, odd), (number & 2u) == 2u);
}`,
  },
  /** A word as a number between 0 and 1. */
  unit: {
    text: 'fn unit(word: u32) -> f32 { return (f32(word) + 0.5) * 2.3283064365386963e-10; }',
  },
  /** The logarithm of that number: near 1, of what it lacks. */
  log_unit: {
    called: true,
    text: `fn log_unit(word: u32) -> f32 {
  return select(@log1p(-@unit(~word)), @log(@unit(word)), word < 0x80000000u);
}`,
  },
  /** A standard normal number of two words. */
  stream_normal: {
    called: true,
    text: `fn stream_normal(first: u32, second: u32) -> f32 {
  let angle = (f32(second & 0x3fffffffu) + 0.5) * 1.4629180792671596e-9;
  return sqrt(-2.0 * @log_unit(first)) * @near_turned(angle, i32(second >> 30u) + 1);
}`,
  },
  /** 3 (log(1 + y) - y + y²/2 - y³/3) without cancellation. */
  gamma_excess: {
    called: true,
    text: `fn gamma_excess(y: f32) -> f32 {
  if (abs(y) > 0.4) { return 3.0 * (@log1p(y) - y * (1.0 - y * (0.5 - y * 0.33333333))); }
  let w = y * y;
  return w * w * poly(y, -0.75, 0.6, -0.5, 0.42857143, -0.375, 0.33333333, -0.3, 0.27272727, -0.25, 0.23076923, -0.21428571, 0.2, -0.1875, 0.17647059);
}`,
  },
  /** Marsaglia and Tsang's method; below `least` is `least`. */
  standard_gamma: {
    called: true,
    text: `fn standard_gamma(${STREAM}, alpha: f32, least: f32) -> f32 {
  if (@is_nan(alpha) | (alpha < 0.0)) { return @nan(); }
  if (alpha == 0.0) { return least; }
  if (@is_inf(alpha)) { return alpha; }
  var number = 0u;
  var shape = alpha;
  var scale = 0.0;
  if (alpha < 1.0) {
    scale = @log_unit(@stream_word(seed, offset, index, number)) / alpha;
    shape = alpha + 1.0;
    number = 1u;
  }
  let d = shape - 0.33333333;
  let c = 1.0 / (3.0 * sqrt(d));
  var root = 1.0;
  var tries = 0;
  while (tries < 100) {
    let first = @stream_word(seed, offset, index, number);
    let y = c * @stream_normal(first, @stream_word(seed, offset, index, number + 1u));
    number += 2u;
    tries += 1;
    if (y > -1.0) {
      root = 1.0 + y;
      let level = @log_unit(@stream_word(seed, offset, index, number));
      number += 1u;
      if (level < d * @gamma_excess(y)) { tries = 100; }
    }
  }
  var sample = d * root * root * root;
  if (alpha < 1.0) { sample = @exp(scale + @log(sample)); }
  return select(sample, least, sample < least);
}`,
  },
  /** log k! less Stirling's formula, for whole k from 1. */
  factorial_rest: {
    called: true,
    text: `fn factorial_rest(k: f32) -> f32 {
  if (k >= 8.0) { return @stirling_rest(k); }
  var product = 1.0;
  var factor = 2.0;
  while (factor <= k) {
    product *= factor;
    factor += 1.0;
  }
  return @log(product) - (k + 0.5) * @log(k) + k - 0.91893853;
}`,
  },
  /** The logarithm of the probability of k events, of which there are k - diff on average. */
  log_poisson: {
    called: true,
    text: `fn log_poisson(k: f32, rate: f32, diff: f32) -> f32 {
  if (k < 1.0) { return -rate; }
  return -@deviance(k, rate, diff) - @factorial_rest(k) - 0.5 * @log(6.2831853 * k);
}`,
  },
  poisson: {
    called: true,
    text: `fn poisson(${STREAM}, rate: f32) -> f32 {
  if (@is_nan(rate) | (rate < 0.0)) { return @nan(); }
  if (rate == 0.0) { return 0.0; }
  var number = 0u;
  if (rate < 10.0) {
    let limit = @exp(-rate);
    var product = 1.0;
    while ((product > limit) & (number < 1000u)) {
      product *= @unit(@stream_word(seed, offset, index, number));
      number += 1u;
    }
    return f32(number) - 1.0;
  }
  let b = 0.931 + 2.53 * sqrt(rate);
  let a = -0.059 + 0.02483 * b;
  let inverse = 1.1239 + 1.1328 / (b - 3.4);
  let wide = 0.9277 - 3.6224 / (b - 2.0);
  let whole = floor(rate);
  let part = rate - whole;
  var k = whole;
  var tries = 0;
  while (tries < 100) {
    ${HAT}
    let step = floor((2.0 * a / near + b) * u + part + 0.43);
    k = whole + step;
    if ((near >= 0.07) & (v <= wide)) { tries = 100; } else {
      if ((k >= 0.0) & !((near < 0.013) & (v > near))) {
        let height = @log(v * inverse / (a / (near * near) + b));
        if (height <= @log_poisson(k, rate, step - part)) { tries = 100; }
      }
    }
  }
  return k;
}`,
  },
  /** The logarithm of the probability of k successes; diff is k - n p. */
  log_binomial: {
    called: true,
    text: `fn log_binomial(n: f32, p: f32, mean: f32, k: f32, diff: f32) -> f32 {
  let rest = n - k;
  if (k < 1.0) { return n * @log1p(-p); }
  if (rest < 1.0) { return n * @log(p); }
  let distance = @deviance(k, mean, diff) + @deviance(rest, n - mean, -diff);
  let parts = @factorial_rest(n) - @factorial_rest(k) - @factorial_rest(rest);
  return parts - distance - 0.5 * @log(6.2831853 * k * (rest / n));
}`,
  },
  binomial: {
    called: true,
    text: `fn binomial(${STREAM}, count: f32, prob: f32) -> f32 {
  if (@is_nan(count) | @is_nan(prob)) { return @nan(); }
  if ((count < 0.0) | (prob < 0.0) | (prob > 1.0)) { return @nan(); }
  let n = floor(count);
  let turned = prob > 0.5;
  let p = select(prob, 1.0 - prob, turned);
  var number = 0u;
  var k = 0.0;
  if ((n > 0.0) & (p > 0.0)) {
    if (n * p < 10.0) {
      let scale = @log1p(-p);
      var trials = 0.0;
      while ((trials <= n) & (number < 1000u)) {
        trials += ceil(@log_unit(@stream_word(seed, offset, index, number)) / scale);
        number += 1u;
      }
      k = f32(number) - 1.0;
    } else {
      // n p in whole numbers and the rest, of which products of floats would keep less.
      let share = u32(p * 4294967296.0);
      var whole = floor(n * p);
      var part = 0.0;
      if (n < 4294967040.0) {
        let trials = u32(n);
        whole = f32(@mul_high(share, trials));
        part = f32(share * trials) * 2.3283064365386963e-10 + (p - f32(share) * 2.3283064365386963e-10) * n;
      }
      let mean = whole + part;
      let deviation = sqrt(mean * (1.0 - p));
      let b = 1.15 + 2.53 * deviation;
      let a = -0.0873 + 0.0248 * b + 0.01 * p;
      let wide = 0.92 - 4.2 / b;
      let alpha = (2.83 + 5.1 / b) * deviation;
      let mode = floor(part + p);
      let peak = @log_binomial(n, p, mean, whole + mode, mode - part);
      var tries = 0;
      while (tries < 100) {
        ${HAT}
        let step = floor((2.0 * a / near + b) * u + part + 0.5);
        k = whole + step;
        if ((k >= 0.0) & (k <= n)) {
          if ((near >= 0.07) & (v <= wide)) { tries = 100; } else {
            let height = @log(v * alpha / (a / (near * near) + b));
            if (height <= @log_binomial(n, p, mean, k, step - part) - peak) { tries = 100; }
          }
        }
      }
      k = clamp(k, 0.0, n);
    }
  }
  return select(k, n - k, turned);
}`,
  },
};
