/**
 * @file Functions that modules are made of, by themselves.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { functional as F } from '../src/index.js';

function expectValues(actual: Tensor, expected: readonly number[]): void {
  const values = actual.reshape([-1]).toArray() as number[];
  expect(values).toHaveLength(expected.length);
  values.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 5));
}

describe('functional forms', () => {
  it('softmin prefers small values', () => {
    expectValues(F.softmin(tensor([0, Math.LN2]), 0), [2 / 3, 1 / 3]);
  });

  it('rrelu: the middle slope unless training, else one of the range', () => {
    const x = tensor([-1, 2, -3]);
    expectValues(F.rrelu(x), [-11 / 48, 2, -33 / 48]);
    const [first, second, third] = F.rrelu(x, {
      lower: 0.1,
      upper: 0.3,
      training: true,
    }).toArray() as number[];
    expect(second).toBe(2);
    for (const slope of [-first!, -third! / 3]) {
      expect(slope).toBeGreaterThanOrEqual(0.1 - 1e-6);
      expect(slope).toBeLessThanOrEqual(0.3 + 1e-6);
    }
    expect(F.rrelu(x, { inplace: true })).toBe(x);
    expectValues(x, [-11 / 48, 2, -33 / 48]);
  });

  it('localResponseNorm divides by the mean of squares of neighbouring channels', () => {
    const values = [1, 2, 3, 4];
    const size = 3;
    const expected = values.map((value, c) => {
      const around = [values[c - 1] ?? 0, value, values[c + 1] ?? 0];
      const mean = around.reduce((sum, v) => sum + v * v, 0) / size;
      return value / (2 + 0.5 * mean) ** 0.6;
    });
    const x = tensor(values).reshape([1, 4, 1]);
    expectValues(F.localResponseNorm(x, size, { alpha: 0.5, beta: 0.6, k: 2 }), expected);
  });
});
