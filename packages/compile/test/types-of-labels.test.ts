/**
 * @file Class labels of every integer type: losses and gradients of compiled code are those of eager code.
 */
import { functional as F } from '@tessera/nn';
import { type DType, type Tensor, grad, manualSeed, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

const CALLS: Readonly<Record<string, readonly [sizes: readonly number[], labels: unknown]>> = {
  'one sample': [[4], 2],
  samples: [
    [3, 4],
    [2, 0, 3],
  ],
  images: [
    [2, 4, 2],
    [
      [1, 3],
      [0, 2],
    ],
  ],
};
const TYPES: readonly DType[] = ['int64', 'int32', 'uint8'];
const LOSSES: Readonly<Record<string, (x: Tensor, labels: Tensor) => Tensor>> = {
  nllLoss: (x, labels) => F.nllLoss(x, labels),
  'nllLoss, of single samples': (x, labels) => F.nllLoss(x, labels, { reduction: 'none' }),
  crossEntropy: (x, labels) => F.crossEntropy(x, labels),
};

describe.each(Object.entries(LOSSES))('%s', (_loss, loss) => {
  describe.each(Object.entries(CALLS))('of %s', (_call, [sizes, data]) => {
    it.each(TYPES)('with %s labels', (dtype) => {
      manualSeed(3);
      const x = randn(sizes).requiresGrad_();
      const labels = tensor(data as number, { dtype });
      const results = (fn: typeof loss): unknown => {
        const value = fn(x, labels);
        return [value, grad(value.sum(), x)[0]!].map((t) =>
          ([t.toArray()].flat(3) as number[]).map((number) => Number(number.toFixed(5)) + 0),
        );
      };
      const eager = config.patch({ 'eager.kernels': 'reference' }, () => results(loss));
      expect(results(compile(loss))).toEqual(eager);
    });
  });
});
