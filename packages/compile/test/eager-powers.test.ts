/**
 * @file Powers by a number in eager calls: those with a cheaper form take it, others share one kernel.
 */
import * as T from '@tessera/tensor';
import { expect, it } from 'vitest';
import { config } from '../src/index.js';

const values = [-3, -1, -0, 0, 0.5, 2, 1e20, -Infinity, Infinity, NaN];

it.each([-1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, -2.5, Infinity, NaN])(
  'to the power of %d',
  (exponent) => {
    for (const dtype of ['float32', 'float64', 'int64'] as const) {
      if (dtype === 'int64' && !(exponent >= 0 && Number.isInteger(exponent))) continue;
      const x = T.tensor(dtype === 'int64' ? [-3, 0, 1, 7] : values, { dtype });
      const wanted = config.patch({ 'eager.kernels': 'reference' }, () =>
        x.pow(exponent).toArray(),
      );
      const got = x.pow(exponent).toArray() as number[];
      (wanted as number[]).forEach((exact, i) => {
        if (Number.isFinite(exact))
          expect(Math.abs(got[i]! - exact)).toBeLessThanOrEqual(2e-7 * Math.abs(exact));
        else expect(got[i]).toBe(exact);
      });
    }
  },
);
