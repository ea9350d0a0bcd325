import { describe, expect, it } from 'vitest';
import { median, quantile, roundRatios, summarize } from '../src/harness/statistics.js';

describe('statistics of samples', () => {
  it('interpolates quantiles of unsorted samples', () => {
    expect(quantile([4, 1, 3, 2], 0)).toBe(1);
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(quantile([4, 1, 3, 2], 1)).toBe(4);
    expect(quantile([10, 20], 0.25)).toBe(12.5);
    expect(quantile([], 0.5)).toBeNaN();
  });

  it('leaves the samples as they are', () => {
    const samples = [3, 1, 2];
    median(samples);
    expect(samples).toEqual([3, 1, 2]);
  });

  it('is not moved by an outlier', () => {
    const { median: middle, min, max, spread, samples } = summarize([10, 11, 10, 9, 500]);
    expect(middle).toBe(10);
    expect([min, max, samples]).toEqual([9, 500, 5]);
    expect(spread).toBeCloseTo(0.1);
  });

  it('compares engines round by round, so that a slow phase of the machine drops out', () => {
    const baseline = [1, 1, 5, 5];
    const peer = [2, 2, 10, 10];
    expect(roundRatios(peer, baseline)).toEqual([2, 2, 2, 2]);
    expect(roundRatios([2, 4, 6], [2])).toEqual([1]);
  });
});
