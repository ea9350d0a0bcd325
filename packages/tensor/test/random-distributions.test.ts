/**
 * @file Random numbers of distributions: moments against theory, derivatives against the distribution function.
 */
import { describe, expect, it } from 'vitest';
import { gammaSlope } from '../src/kernels/gamma-sampling.js';
import { logGamma } from '../src/kernels/gamma-functions.js';
import {
  type Tensor,
  binomial,
  full,
  getRngState,
  grad,
  manualSeed,
  poisson,
  standardGamma,
  tensor,
  zeros,
} from '../src/index.js';

const COUNT = 20000;
const double = { dtype: 'float64' } as const;

function moments(x: Tensor): { mean: number; variance: number } {
  const values = Array.from(x.toTypedArray(), Number);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return { mean, variance: values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length };
}

/** Within five standard errors of the mean, and 15 percent of the variance. */
function expectMoments(x: Tensor, mean: number, variance: number): void {
  const found = moments(x);
  expect(Math.abs(found.mean - mean)).toBeLessThan(5 * Math.sqrt(variance / x.numel));
  expect(Math.abs(found.variance / variance - 1)).toBeLessThan(0.15);
}

describe('numbers of distributions', () => {
  it.each([0.2, 0.9, 1, 3.5, 200])('gamma of shape %d', (alpha) => {
    manualSeed(1);
    expectMoments(standardGamma(full([COUNT], alpha, double)), alpha, alpha);
  });

  it.each([0.3, 4, 9.99, 10, 35.5, 5000])('Poisson of rate %d', (rate) => {
    manualSeed(2);
    expectMoments(poisson(full([COUNT], rate, double)), rate, rate);
  });

  it.each([
    [5, 0.3],
    [40, 0.9],
    [100, 0.5],
    [2000, 0.01],
    [100000, 0.3],
  ])('binomial of %d trials of %d', (n, p) => {
    manualSeed(3);
    expectMoments(binomial(full([COUNT], n, double), tensor(p, double)), n * p, n * p * (1 - p));
  });

  it('exponential, log-normal, geometric and Cauchy numbers fill a tensor', () => {
    manualSeed(4);
    const blank = (): Tensor => zeros([COUNT], double);
    expectMoments(blank().exponential_(4), 1 / 4, 1 / 16);
    const [s2, logMean] = [0.25, 0.5];
    const mean = Math.exp(logMean + s2 / 2);
    expectMoments(blank().logNormal_(logMean, 0.5), mean, (Math.exp(s2) - 1) * mean ** 2);
    expectMoments(blank().geometric_(0.2), 5, 20);
    expect(blank().geometric_(0.9).min().item()).toBe(1);
    const cauchy = blank().cauchy_(3, 2);
    expect(cauchy.median().item()).toBeCloseTo(3, 0);
    // A quarter lies above median + sigma.
    expect(cauchy.gt(5).to('float64').mean().item()).toBeCloseTo(0.25, 1);
  });

  it('edges of the parameters', () => {
    expect(standardGamma(tensor([0, NaN])).toArray()).toEqual([2 ** -126, NaN]);
    expect(poisson(tensor([0, 0])).toArray()).toEqual([0, 0]);
    expect(binomial(tensor([3, 3, 0]), tensor([0, 1, 0.5])).toArray()).toEqual([0, 3, 0]);
    expect(binomial(tensor([3]), tensor([1.5])).toArray()).toEqual([NaN]);
    expect(() => poisson(tensor([-1]))).toThrow('invalid Poisson rate');
    expect(() => zeros([2]).exponential_(0)).toThrow('exponential_ expects lambda > 0.0');
    expect(() => zeros([2]).geometric_(1)).toThrow('geometric_ expects p to be in (0, 1)');
    expect(() => zeros([2], { dtype: 'int64' }).exponential_()).toThrow(
      'not implemented for int64',
    );
  });

  it('repeat from a seed, and take one offset whatever is rejected', () => {
    manualSeed(5);
    const first = standardGamma(full([100], 0.7)).toArray();
    expect(getRngState().offset).toBe(1);
    manualSeed(5);
    expect(standardGamma(full([100], 0.7)).toArray()).toEqual(first);
  });
});

/** P(α, x), summed up. */
function lowerGamma(alpha: number, x: number): number {
  let term = Math.exp(alpha * Math.log(x) - x - logGamma(alpha + 1));
  let total = 0;
  for (let n = 1; term > 1e-18 * total; n++) {
    total += term;
    term *= x / (alpha + n);
  }
  return total;
}

describe('the derivative of a gamma sample in its shape', () => {
  it.each([
    [0.3, 0.05],
    [0.3, 2.5],
    [1, 0.7],
    [2.5, 1.2],
    [2.5, 9],
    [30, 22],
    [30, 30.5],
    [30, 51],
    [900, 880],
  ])('keeps the place in the distribution: shape %d at %d', (alpha, x) => {
    const h = 1e-4 * alpha;
    // -(∂P/∂α) / (∂P/∂x), by central differences.
    const inAlpha = lowerGamma(alpha + h, x) - lowerGamma(alpha - h, x);
    const k = 1e-4 * x;
    const inX = lowerGamma(alpha, x + k) - lowerGamma(alpha, x - k);
    const slope = -(inAlpha / h) / (inX / k);
    expect(gammaSlope(alpha, x) / slope).toBeCloseTo(1, 5);
  });

  it('is what flows back', () => {
    manualSeed(6);
    const alpha = full([COUNT], 2.5, double).requiresGrad_();
    const sample = standardGamma(alpha);
    const [slope] = grad(sample.sum(), alpha);
    // The mean of a sample is its shape, so the mean slope is 1.
    expect(moments(slope!).mean).toBeCloseTo(1, 1);
    expect(slope!.narrow(0, 0, 1).item()).toBeCloseTo(
      gammaSlope(2.5, sample.narrow(0, 0, 1).item()),
      12,
    );
  });
});
