/** @file What counts as agreement of a gradient with finite differences. */
import { tensor, zeros } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { STEPS, distanceTo, errorOf } from '../src/check-gradients.js';

it.each([
  [{ low: 1, high: 1 }, 1, 0],
  [{ low: 1, high: 3 }, 2, 0],
  [{ low: 1, high: 3 }, 3.5, 0.5],
  [{ low: 1, high: 3 }, 0.5, 0.5],
  [{ low: 1, high: 1 }, NaN, Infinity],
  [{ low: NaN, high: NaN }, 1, Infinity],
  [{ low: NaN, high: NaN }, NaN, 0],
])('slopes %j, gradient %d: %d', (slopes, gradient, distance) => {
  expect(distanceTo(slopes, gradient)).toBe(distance);
});

it('finds the slope of a bias before a ReLU of very small numbers', () => {
  // As those of an untrained depth model: kinks lie closer together than most steps are long.
  const small = Array.from({ length: 1000 }, (_, i) => Math.sin(i * 12.9898) * 3e-9);
  const weights = tensor(
    small.map((_, i) => Math.sin(i * i)),
    { dtype: 'float64' },
  );
  const x = tensor(small, { dtype: 'float64' });
  const bias = zeros([1], { dtype: 'float64' });
  const value = (): number => x.add(bias).relu().mul(weights).sum().item() as number;
  const slope = x.gt(0).to('float64').mul(weights).sum().item() as number;
  const own = Math.abs(slope);
  const loss = { steps: STEPS, parameters: new Map([['bias', bias]]), here: value(), value };
  const sample = {
    name: 'bias',
    parameter: bias,
    at: [0],
    along: [Math.sign(slope)],
    owns: [own],
    own,
  };
  expect(errorOf(loss, sample, 0, false)).toBeLessThan(1e-2);
  expect(errorOf(loss, { ...sample, own: own * 1.5 }, 0, false)).toBeGreaterThan(5e-2);
  const larger = { ...loss, steps: STEPS.slice(0, -2) };
  expect(errorOf(larger, sample, 0, false)).toBeGreaterThan(5e-2);
});
