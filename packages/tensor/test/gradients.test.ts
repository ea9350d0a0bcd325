/**
 * @file First and second derivatives of the common operators against finite differences.
 */
import { describe, expect, it } from 'vitest';
import { cases as commonCases } from './support/gradient-cases.js';
import { pointwiseCases } from './support/gradient-cases-pointwise.js';
import {
  gradientError,
  loneGradientDifference,
  secondGradientError,
} from './support/gradient-check.js';

const cases = [...commonCases, ...pointwiseCases];

describe('gradients', () => {
  it.each(cases)('of %s agree with finite differences', (_name, fn, inputs) => {
    expect(gradientError(fn, inputs)).toBeLessThan(1e-6);
  });

  it.each(cases.filter(([, , inputs]) => inputs.length > 1))(
    'of %s are the same when only one input wants one',
    (_name, fn, inputs) => {
      expect(loneGradientDifference(fn, inputs)).toBe(0);
    },
  );

  it.each(cases)('of gradients of %s agree with finite differences', (_name, fn, inputs) => {
    expect(secondGradientError(fn, inputs)).toBeLessThan(1e-5);
  });
});
