/** @file A gradient that is no number is no agreement. */
import { expect, it } from 'vitest';
import { distanceTo } from '../src/check-gradients.js';

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
