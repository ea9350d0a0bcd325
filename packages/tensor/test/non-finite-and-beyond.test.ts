/**
 * @file What a random comparison with PyTorch 2.13 found in operators: numbers that kernels did not expect, and calls
 * that PyTorch refuses.
 */
import { TesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  callOp,
  fromTypedArray,
  getOp,
  gradient,
  hardtanh,
  histogram,
  lerp,
  ones,
  pow,
  tensor,
  unique,
} from '../src/index.js';
import { batchNorm } from '../src/internal.js';
import { cofactorMatrix } from '../src/kernels/cofactor-matrix.js';
import { lstsq, pinv } from '../src/linalg.js';

describe('matrices with elements that are not finite', () => {
  it.each([NaN, Infinity])('%s is refused where singular values would be sought forever', (bad) => {
    const matrix = tensor([
      [bad, 1],
      [1, 2],
    ]);
    const said = /linalg.svd: The algorithm failed to converge .* contained non-finite values/;
    expect(() => pinv(matrix)).toThrow(said);
    expect(() => lstsq(matrix, ones([2, 1]))).toThrow(said);
  });

  it('have no cofactors', () => {
    expect([...cofactorMatrix(Float64Array.of(NaN, 1, 1, 2), 2)]).toEqual([NaN, NaN, NaN, NaN]);
  });
});

describe('integers', () => {
  it('are limited by whole numbers', () => {
    const x = tensor([-3, 0, 1, 5], { dtype: 'int64' });
    expect(hardtanh(x, { minVal: -0.5, maxVal: 0.5 }).toArray()).toEqual([0, 0, 0, 0]);
    expect(hardtanh(x, { minVal: -2.7, maxVal: 3.9 }).toArray()).toEqual([-2, 0, 1, 3]);
  });

  it('beyond doubles have a logsumexp', () => {
    const x = fromTypedArray(BigInt64Array.of(2n ** 63n - 1n, 1n), [2]);
    expect(x.logsumexp(0).item()).toBe(2 ** 63);
  });
});

it('elu bends below 0 only', () => {
  const x = tensor([-1, 0, 1], { requiresGrad: true });
  const slope = callOp(getOp('aten::elu_backward'), [ones([3]), 1, 1, 1, false, x]) as Tensor;
  slope.sum().backward();
  expect(x.grad!.toArray()).toEqual([expect.closeTo(Math.exp(-1), 6), 0, 0]);
});

it('a weight of lerp without dimensions has any type', () => {
  const weight = tensor(2, { dtype: 'float64', requiresGrad: true });
  const y = lerp(ones([2]), tensor([3, 3]), weight);
  y.sum().backward();
  expect([y.dtype, y.toArray()]).toEqual(['float32', [5, 5]]);
  expect([weight.grad!.dtype, weight.grad!.item()]).toEqual(['float64', 4]);
  expect(() => lerp(ones([2]), ones([2]), tensor([2, 2], { dtype: 'int64' }))).toThrow(
    /expected dtype float32 for `weight`/,
  );
});

it('powers of a number are row by row in memory', () => {
  expect(pow(2, ones([5, 3]).t()).strides).toEqual([5, 1]);
  expect(pow(ones([5, 3]).t(), 2).strides).toEqual([1, 3]);
});

it('mT leaves a number as it is', () => {
  expect(callOp(getOp('aten::mT'), [tensor(1)])).toHaveProperty('sizes', []);
});

describe('refused, as PyTorch does', () => {
  it.each<[string, () => unknown, string]>([
    [
      'distinct slices of a number',
      () => unique(tensor(1), { dim: 0 }),
      'Dimension specified as 0 but tensor has no dimensions',
    ],
    [
      'one running statistic',
      () => batchNorm(ones([3, 1]), { runningVar: ones([1]), training: true }),
      'running_mean and running_var must either both be None or neither be None',
    ],
    [
      'bilinear of two types',
      () =>
        callOp(getOp('aten::bilinear'), [
          ones([2, 3]),
          ones([2, 4]),
          ones([5, 3, 4]),
          ones([5], { dtype: 'float64' }),
        ]),
      'All tensors must have the same dtype, got input1: float32, input2: float32, weight: float32, bias: float64',
    ],
    [
      'a mean over a volume with no room for the window',
      () =>
        callOp(getOp('aten::avg_pool3d'), [
          ones([1, 2, 1, 4, 4]),
          [2, 2, 2],
          [1, 1, 1],
          [1, 1, 1],
          false,
          true,
          null,
        ]),
      'input image (T: 1 H: 4 W: 4) smaller than kernel size (kT: 2 kH: 2 kW: 2)',
    ],
    [
      'weights of a histogram of another type',
      () => histogram(ones([2]), 3, { weight: ones([2], { dtype: 'int64' }) }),
      'input tensor and weight tensor should have the same dtype, but got input(float32), and weight(int64)',
    ],
    [
      'differences of uint8',
      () => gradient(ones([3], { dtype: 'uint8' })),
      'torch.gradient does not support uint8 input.',
    ],
    [
      'another approximation of gelu',
      () => ones([2]).gelu({ approximate: 'sigmoid' as 'tanh' }),
      'approximate argument must be either none or tanh.',
    ],
  ])('%s', (_, refused, message) => {
    expect(refused).toThrow(message);
    expect(refused).toThrow(TesseraError);
  });
});
