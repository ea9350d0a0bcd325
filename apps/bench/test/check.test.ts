import { describe, expect, it } from 'vitest';
import { largestDifference, mismatch } from '../src/harness/check.js';
import { checkedRanges, pickRanges, referenceValues } from '../src/harness/ranges.js';

const tolerance = { rtol: 1e-3, atol: 1e-6 };

describe('comparison of results', () => {
  it('accepts what is within the tolerance', () => {
    expect(mismatch([1, 2.001, NaN], [1, 2, NaN], tolerance, 'the reference')).toBeNull();
  });

  it('names the element that is furthest off', () => {
    const { index, excess } = largestDifference([1, 2.1, 3.9], [1, 2, 3], tolerance);
    expect(index).toBe(2);
    expect(excess).toBeGreaterThan(100);
    expect(mismatch([1, 2.1, 3.9], [1, 2, 3], tolerance, 'jax-js')).toMatch(
      /^element 2 is 3\.9, jax-js has 3, /,
    );
  });

  it.each([
    [[NaN], [1]],
    [[1], [NaN]],
    [[Infinity], [1]],
    [[1], [Infinity]],
  ])('finds %j against %j wrong', (actual, expected) => {
    expect(mismatch(actual, expected, tolerance, 'x')).toMatch(/^element 0 is/);
  });

  it('finds a result of another length wrong', () => {
    expect(mismatch([1, 2], [1], tolerance, 'x')).toBe('2 elements where x has 1');
  });
});

describe('checked ranges', () => {
  it('cover a small result whole', () => {
    expect(checkedRanges(100)).toEqual([{ start: 0, count: 100 }]);
  });

  it('reach from the start to the end of a large one without overlap', () => {
    const ranges = checkedRanges(1 << 20);
    expect(ranges[0]!.start).toBe(0);
    expect(ranges.at(-1)!.start + ranges.at(-1)!.count).toBe(1 << 20);
    for (let i = 1; i < ranges.length; i++) {
      expect(ranges[i]!.start).toBeGreaterThanOrEqual(ranges[i - 1]!.start + ranges[i - 1]!.count);
    }
  });

  it('pick the same elements of a result and of the reference', () => {
    const whole = Float32Array.from({ length: 20_000 }, (_, i) => i);
    const ranges = checkedRanges(whole.length);
    expect(Array.from(pickRanges(whole, ranges))).toEqual(
      Array.from(referenceValues(ranges, (i) => i)),
    );
  });
});
