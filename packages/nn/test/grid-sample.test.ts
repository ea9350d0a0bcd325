/**
 * @file Spatial transformers, against what PyTorch 1.13 gives.
 */
import { type Tensor, arange, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { affineGrid, gridSample } from '../src/functional/index.js';
import { thrownBy } from './thrown-by.js';

function close(actual: Tensor, expected: readonly number[]): void {
  const values = Array.from(actual.toTypedArray(), Number);
  expect(values).toHaveLength(expected.length);
  values.forEach((value, i) => {
    if (Number.isNaN(expected[i])) expect(value).toBeNaN();
    else expect(value).toBeCloseTo(expected[i]!, 4);
  });
}

describe('an image seen through an affine map', () => {
  it.each([
    {
      alignCorners: false,
      grid: [-0.33333, -0.9, 0.2, -0.7, 0.73333, -0.5, -0.53333, 0, 0, 0.2, 0.53333, 0.4],
      image: [0.54167, 1.805, 3.96667, 4.43333, 6.7, 8.96667],
      gradient: [0.46667, 0.4, 11.2, 3.16667, 3.95, 28.1],
    },
    {
      alignCorners: true,
      grid: [-0.5, -1.45, 0.3, -1.15, 1.1, -0.85, -0.9, 0.35, -0.1, 0.65, 0.7, 0.95],
      image: [0.4125, 1.6575, 3.06, 5.55, 7.95, 10.35],
      gradient: [-6.225, 7.8, 1.2, 2.65, 5.9, 18.1],
    },
  ])('alignCorners $alignCorners', ({ alignCorners, grid, image, gradient }) => {
    const theta = tensor([
      [
        [0.8, -0.2, 0.1],
        [0.3, 0.9, -0.25],
      ],
    ]).requiresGrad_();
    const input = arange(12, { dtype: 'float32' }).reshape([1, 1, 3, 4]);
    const points = affineGrid(theta, [1, 1, 2, 3], { alignCorners });
    expect(points.shape).toEqual([1, 2, 3, 2]);
    close(points, grid);
    const seen = gridSample(input, points, { alignCorners });
    close(seen, image);
    seen.sum().backward();
    close(theta.grad!, gradient);
  });

  it('volumes likewise; a dimension of one element lies in the middle', () => {
    const theta = tensor([
      [
        [1, 0, 0, 0.5],
        [0, 1, 0, 0],
        [0, 0, 1, -0.5],
      ],
    ]);
    const points = affineGrid(theta, [1, 1, 2, 1, 2]);
    expect(points.shape).toEqual([1, 2, 1, 2, 3]);
    close(points, [0, 0, -1, 1, 0, -1, 0, 0, 0, 1, 0, 0]);
  });

  it('refuses maps of another shape', () => {
    const theta = tensor([[[1, 0, 0]]]);
    expect(thrownBy(() => affineGrid(theta, [1, 1, 2, 3]))).toMatchObject({
      code: 'shape-mismatch',
    });
  });
});

/** What torch 2.13 gives on the CPU; of a place that is no number border and reflection make the first element. */
describe('a place that is no number', () => {
  const image = (): Tensor =>
    arange(20, { dtype: 'float32' }).add(1).reshape([1, 1, 4, 5]).requiresGrad_();
  const at = (x: number): Tensor => tensor([[[[x, 0.2]]]]).requiresGrad_();

  it.each([
    ['bilinear', 'zeros', NaN, NaN, 0, [0, NaN]],
    ['bilinear', 'zeros', -Infinity, NaN, 0, [0, NaN]],
    ['bilinear', 'zeros', 1e10, 0, 0, [0, 0]],
    ['bilinear', 'border', NaN, 10.5, 1, [0, 10]],
    ['bilinear', 'border', Infinity, 14.5, 1, [0, 10]],
    ['bilinear', 'reflection', Infinity, 10.5, 1, [0, 10]],
    ['nearest', 'zeros', NaN, 0, 0, [0, 0]],
    ['nearest', 'border', NaN, 11, 1, [0, 0]],
    ['nearest', 'reflection', Infinity, 11, 1, [0, 0]],
    ['bicubic', 'zeros', NaN, NaN, 0, [NaN, NaN]],
    ['bicubic', 'border', Infinity, NaN, NaN, [NaN, NaN]],
    ['bicubic', 'reflection', NaN, NaN, NaN, [NaN, NaN]],
  ] as const)('%s, %s, %d: %d', (mode, paddingMode, x, value, share, slopes) => {
    const [input, places] = [image(), at(x)];
    const seen = gridSample(input, places, { mode, paddingMode });
    close(seen, [value]);
    seen.sum().backward();
    close(input.grad!.sum(), [share]);
    close(places.grad!, slopes);
  });

  it('reads nothing of a volume', () => {
    const volume = arange(24, { dtype: 'float32' }).reshape([1, 1, 2, 3, 4]);
    close(gridSample(volume, tensor([[[[[NaN, 0, 0]]]]])), [0]);
  });
});
