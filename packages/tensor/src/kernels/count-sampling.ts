/**
 * @file Random counts: Poisson and binomial.
 *
 * Few expected counts are counted one by one; many are drawn by transformed rejection. @see Hörmann, "The
 * transformed rejection method for generating Poisson random variables", 1993, and "The generation of binomial
 * random variates", 1993
 */
import type { NumberStream } from '../rng/number-stream.js';
import { logGamma } from './gamma-functions.js';

/** Expected counts from which rejection is used. */
const MANY = 10;

/** A count of events that happen `rate` ≥ 0 times on average. */
export function samplePoisson(rate: number, numbers: NumberStream): number {
  if (rate === 0) return 0;
  if (rate < MANY) {
    const limit = Math.exp(-rate);
    let count = 0;
    for (let product = numbers.uniform(); product > limit; product *= numbers.uniform()) count++;
    return count;
  }
  const b = 0.931 + 2.53 * Math.sqrt(rate);
  const a = -0.059 + 0.02483 * b;
  const inverse = 1.1239 + 1.1328 / (b - 3.4);
  const wide = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const u = numbers.uniform() - 0.5;
    const v = numbers.uniform();
    const near = 0.5 - Math.abs(u);
    const k = Math.floor(((2 * a) / near + b) * u + rate + 0.43);
    if (near >= 0.07 && v <= wide) return k;
    if (k < 0 || (near < 0.013 && v > near)) continue;
    const height = Math.log((v * inverse) / (a / (near * near) + b));
    if (height <= k * Math.log(rate) - rate - logGamma(k + 1)) return k;
  }
}

/** How many of `count` trials succeed, each with probability 0 ≤ p ≤ 1. */
export function sampleBinomial(count: number, p: number, numbers: NumberStream): number {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p > 0.5) return count - sampleBinomial(count, 1 - p, numbers);
  if (count * p < MANY) return countByGaps(count, p, numbers);
  const deviation = Math.sqrt(count * p * (1 - p));
  const b = 1.15 + 2.53 * deviation;
  const a = -0.0873 + 0.0248 * b + 0.01 * p;
  const center = count * p + 0.5;
  const wide = 0.92 - 4.2 / b;
  const alpha = (2.83 + 5.1 / b) * deviation;
  const odds = Math.log(p / (1 - p));
  const mode = Math.floor((count + 1) * p);
  const peak = logGamma(mode + 1) + logGamma(count - mode + 1);
  for (;;) {
    const u = numbers.uniform() - 0.5;
    const v = numbers.uniform();
    const near = 0.5 - Math.abs(u);
    const k = Math.floor(((2 * a) / near + b) * u + center);
    if (k < 0 || k > count) continue;
    if (near >= 0.07 && v <= wide) return k;
    const height = Math.log((v * alpha) / (a / (near * near) + b));
    if (height <= peak - logGamma(k + 1) - logGamma(count - k + 1) + (k - mode) * odds) return k;
  }
}

/** Skips from success to success: the gaps are geometric. */
function countByGaps(count: number, p: number, numbers: NumberStream): number {
  const scale = Math.log1p(-p);
  let successes = 0;
  let trials = 0;
  for (;;) {
    trials += Math.ceil(Math.log(numbers.uniform()) / scale);
    if (trials > count) return successes;
    successes++;
  }
}
