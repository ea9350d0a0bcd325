/**
 * @file Gradients where values are infinite or no numbers: what PyTorch gives, in eager mode by either kind of
 * kernels and compiled.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, grad, onesLike, tensor, zeros } from '@tessera/tensor';
import { huberLoss, smoothL1Loss } from '@tessera/tensor/internal';
import { compile, config } from '../src/index.js';

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;
const differences = [inf, -inf, nan, 3, -3, 2, 0.5, 0];

type Loss = (x: Tensor, y: Tensor) => Tensor;
const reduction = 'sum';
const losses: [string, Loss, number[]][] = [
  ['huberLoss', (x, y) => huberLoss(x, y, { delta: 2, reduction }), [2, -2, nan, 2, -2, 2, 0.5, 0]],
  [
    'smoothL1Loss',
    (x, y) => smoothL1Loss(x, y, { beta: 2, reduction }),
    [1, -1, nan, 1, -1, 1, 0.25, 0],
  ],
];

describe.each(losses)('the gradient of %s', (_name, loss, slopes) => {
  const gradients = (fn: Loss): unknown[] => {
    const [x, y] = [tensor(differences).requiresGrad_(), zeros([8]).requiresGrad_()];
    return grad(fn(x, y), [x, y]).map((slope) => slope!.toArray());
  };
  const expected = [slopes, slopes.map((slope) => -slope)];

  it.each(['reference', 'inductor'] as const)('by %s kernels', (kernels) => {
    expect(config.patch({ 'eager.kernels': kernels }, () => gradients(loss))).toEqual(expected);
  });

  it('compiled', () => {
    expect(gradients(compile(loss))).toEqual(expected);
  });

  it('is itself differentiable', () => {
    const x = tensor([3, -3, 0.5, 0]).requiresGrad_();
    const [slope] = grad(loss(x, zeros([4])), x, { createGraph: true });
    const inner = loss === losses[0]![1] ? 1 : 0.5;
    expect(grad(slope!.sum(), x)[0]!.toArray()).toEqual([0, 0, inner, inner]);
  });
});

describe('the gradient of logcumsumexp', () => {
  const gradient = (fn: (x: Tensor) => Tensor, values: number[]): unknown => {
    const x = tensor(values, { requiresGrad: true });
    const y = fn(x);
    y.backward(onesLike(y));
    return x.grad!.toArray();
  };

  it.each([
    [
      [-inf, -inf, 1],
      [nan, nan, 1],
    ],
    [
      [inf, 1, 2],
      [nan, 0, 0],
    ],
    [
      [1, inf, -inf, inf],
      [1, nan, 0, nan],
    ],
    [[-inf], [nan]],
    [
      [1, inf, inf],
      [1, nan, nan],
    ],
  ])('of %j, compiled and by either kind of kernels', (values, wanted) => {
    const fn = (x: Tensor): Tensor => x.logcumsumexp(0);
    for (const kernels of ['reference', 'inductor'] as const)
      expect(config.patch({ 'eager.kernels': kernels }, () => gradient(fn, values))).toEqual(
        wanted,
      );
    expect(gradient(compile(fn), values)).toEqual(wanted);
  });
});
