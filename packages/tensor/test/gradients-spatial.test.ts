/**
 * @file First and second derivatives of attention, losses, padding, resizing, sampling and windows against
 * finite differences.
 */
import { describe, expect, it } from 'vitest';
import { firstOrderCases, spatialCases } from './support/gradient-cases-spatial.js';
import { gradientError, secondGradientError } from './support/gradient-check.js';

describe('gradients', () => {
  it.each([...spatialCases, ...firstOrderCases])(
    'of %s agree with finite differences',
    (_name, fn, inputs) => {
      expect(gradientError(fn, inputs)).toBeLessThan(1e-6);
    },
  );

  it.each(spatialCases)('of gradients of %s agree with finite differences', (_name, fn, inputs) => {
    expect(secondGradientError(fn, inputs)).toBeLessThan(1e-5);
  });
});
