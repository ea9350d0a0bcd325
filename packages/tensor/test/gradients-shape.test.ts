/**
 * @file First and second derivatives of views, joins, contractions, distances and norms against finite
 * differences.
 */
import { describe, expect, it } from 'vitest';
import { gradientError, secondGradientError } from './support/gradient-check.js';
import { shapeCases } from './support/gradient-cases-shape.js';

describe('gradients', () => {
  it.each(shapeCases)('of %s agree with finite differences', (_name, fn, inputs) => {
    expect(gradientError(fn, inputs)).toBeLessThan(1e-6);
  });

  it.each(shapeCases)('of gradients of %s agree with finite differences', (_name, fn, inputs) => {
    expect(secondGradientError(fn, inputs)).toBeLessThan(2e-5);
  });
});
