/**
 * @file Poolings with an empty stride, which is the kernel's size, with what PyTorch 2.13 gives.
 */
import { expect, it } from 'vitest';
import { type Tensor, arange } from '@tessera/tensor';
import { functional as F } from '../src/index.js';

const x = arange(16, { dtype: 'float32' }).reshape([1, 1, 4, 4]);
const volume = x.reshape([1, 1, 4, 2, 2]);

it.each<[string, (x: Tensor) => Tensor, Tensor, number[]]>([
  [
    'avgPool1d',
    (y) => F.avgPool1d(y, 2, { stride: [] }),
    x.flatten().reshape([1, 1, 16]),
    [0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 14.5],
  ],
  ['avgPool2d', (y) => F.avgPool2d(y, 2, { stride: [] }), x, [2.5, 4.5, 10.5, 12.5]],
  ['avgPool3d', (y) => F.avgPool3d(y, 2, { stride: [] }), volume, [3.5, 11.5]],
  ['maxPool2d', (y) => F.maxPool2d(y, 2, { stride: [] }), x, [5, 7, 13, 15]],
  ['maxPool3d', (y) => F.maxPool3d(y, 2, { stride: [] }), volume, [7, 15]],
])('%s', (name, pool, input, wanted) => {
  const y = input.clone().requiresGrad_();
  const pooled = pool(y);
  expect(pooled.flatten().toArray()).toEqual(wanted);
  pooled.sum().backward();
  const total = y.grad!.sum().item();
  expect(total, name).toBe(wanted.length);
});

it('other lists have as many numbers as dimensions', () => {
  expect(() => F.avgPool2d(x, 2, { padding: [] })).toThrow('padding must be');
  expect(() => F.maxPool2d(x, [])).toThrow('kernel_size must be');
});
