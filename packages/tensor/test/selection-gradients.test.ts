/**
 * @file Derivatives of scans, order statistics and indexed writes against finite differences.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, fromTypedArray, tensor, trapezoid } from '../src/index.js';
import { embeddingBag } from '../src/internal.js';
import {
  type Differentiable,
  gradientError,
  secondGradientError,
} from './support/gradient-check.js';

/** Distinct values away from 0. */
function values(...sizes: number[]): Tensor {
  const count = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from({ length: count }, (_, i) => (((i * 7919) % 97) / 97 - 0.45) * 2.6 + 0.0131),
    sizes,
  );
}

const long = (...data: number[]): Tensor => tensor(data, { dtype: 'int64' });
const grid = (...rows: number[][]): Tensor => tensor(rows, { dtype: 'int64' });
const meeting = grid([0, 1, 1], [2, 0, 0]);

const cases: [name: string, fn: Differentiable, inputs: Tensor[]][] = [
  ['cumprod', (a) => a!.cumprod(1), [values(2, 4)]],
  ['cummax and cummin', (a) => [a!.mul(a!).cummax(1)[0], a!.cummin(0)[0]], [values(3, 4)]],
  ['nansum and nanmean', (a) => [a!.nansum(1), a!.mul(a!).nanmean(0)], [values(3, 4)]],
  ['aminmax', (a) => a!.mul(a!).aminmax({ dim: 1 }), [values(3, 4)]],
  ['median and nanmedian', (a) => [a!.mul(a!).median(), a!.nanmedian(1)[0]], [values(3, 5)]],
  [
    'kthvalue and mode',
    (a) => [a!.mul(a!).kthvalue(2, { dim: 1 })[0], a!.mode(0)[0]],
    [values(3, 5)],
  ],
  ['quantile', (a) => a!.mul(a!).quantile(0.3, { dim: 1 }), [values(3, 5)]],
  ['nanquantile over all', (a) => a!.nanquantile(0.7), [values(3, 4)]],
  ['trapezoid', (y, x) => trapezoid(y!, { x: x! }), [values(2, 4), values(4)]],
  [
    'indexCopy and indexFill',
    (a, b) => a!.indexCopy(1, long(2, 0), b!).mul(a!).indexFill(0, long(1, 1), b!.sum()),
    [values(3, 4), values(3, 2)],
  ],
  [
    'indexReduce',
    (a, b) => a!.indexReduce(0, long(1, 1, 0), b!, 'prod'),
    [values(3, 2), values(3, 2)],
  ],
  [
    'put and take',
    (a, b) =>
      a!
        .put(long(4, 1), b!)
        .mul(a!)
        .take(long(1, 1, 5)),
    [values(2, 3), values(2)],
  ],
  ['takeAlongDim', (a) => a!.mul(a!).takeAlongDim(grid([1, 0, 1]), 1), [values(2, 3)]],
  [
    'maskedScatter',
    (a, b) => a!.maskedScatter(tensor([true, false, true]), b!.mul(b!)),
    [values(2, 3), values(5)],
  ],
  ...(['sum', 'mean', 'prod', 'amax'] as const).flatMap(
    (reduce): [string, Differentiable, Tensor[]][] =>
      [true, false].map((includeSelf) => [
        `scatterReduce (${reduce}, ${includeSelf ? 'with' : 'without'} self)`,
        (a, b) => a!.mul(a!).scatterReduce(0, meeting, b!.mul(b!), reduce, { includeSelf }),
        [values(3, 3), values(2, 3).add(0.7)],
      ]),
  ),
];

const firstOnly: typeof cases = [
  ...(['mean', 'max'] as const).map((mode): [string, Differentiable, Tensor[]] => [
    `embeddingBag (${mode})`,
    (w) => embeddingBag(w!, long(0, 2, 2, 1), long(0, 2), { mode })[0],
    [values(3, 2)],
  ]),
  [
    'embeddingBag with weights of samples',
    (w, s) =>
      embeddingBag(w!, long(0, 2, 2, 1), long(0, 2), { mode: 'sum', perSampleWeights: s! })[0],
    [values(3, 2), values(4)],
  ],
];

describe('gradients', () => {
  it.each([...cases, ...firstOnly])('of %s agree with finite differences', (_name, fn, inputs) => {
    expect(gradientError(fn, inputs)).toBeLessThan(1e-6);
  });

  it.each(cases)('of gradients of %s agree with finite differences', (_name, fn, inputs) => {
    expect(secondGradientError(fn, inputs)).toBeLessThan(1e-5);
  });

  it('of a product with zeros are the products without them', () => {
    const x = tensor([2, 0, 3, 4], { dtype: 'float64' });
    expect(gradientError((a) => a!.cumprod(0), [x])).toBeLessThan(1e-6);
    const y = tensor([2, 0, 3, 0, 4], { dtype: 'float64' });
    expect(gradientError((a) => a!.cumprod(0), [y])).toBeLessThan(1e-6);
  });
});
