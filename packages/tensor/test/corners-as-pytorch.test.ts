/**
 * @file Corners where PyTorch 2.13 was called beside, with what it gave.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  callOp,
  cov,
  getOp,
  ones,
  polygamma,
  pow,
  tensor,
  threshold,
  zeros,
} from '../src/index.js';
import { lstsq, vander, vectorNorm } from '../src/linalg.js';

describe('the gradient of a largest or smallest magnitude', () => {
  const gradient = (values: number[], ord: number): unknown => {
    const x = tensor(values).requiresGrad_();
    vectorNorm(x, ord).backward();
    return x.grad!.add(0).toArray();
  };

  it.each([Infinity, -Infinity])('of order %s is zero where the norm is NaN', (ord) => {
    expect(gradient([1, NaN, 2], ord)).toEqual([0, 0, 0]);
    expect(gradient([NaN, NaN], ord)).toEqual([0, 0]);
    expect(gradient([-Infinity, Infinity, NaN], ord)).toEqual([0, 0, 0]);
  });

  it('is shared by equal magnitudes', () => {
    expect(gradient([2, -2, 1], Infinity)).toEqual([0.5, -0.5, 0]);
    expect(gradient([0, 0], -Infinity)).toEqual([0, 0]);
  });
});

it('a factor beside bools is a bool', () => {
  const [x, y] = [tensor([true, false]), tensor([true, true])];
  for (const alpha of [-1, 2]) expect(x.add(y, { alpha }).toArray()).toEqual([true, true]);
  expect(x.add(y, { alpha: 0 }).toArray()).toEqual([true, false]);
});

it('a threshold is what the type holds of it', () => {
  expect(threshold(tensor([5, 2], { dtype: 'uint8' }), -2, 1).toArray()).toEqual([1, 1]);
  expect(threshold(tensor([0.1]), 0.1, 7).toArray()).toEqual([7]);
});

it('a bool to the power of a truth value is a bool', () => {
  const x = tensor([true, false]);
  expect(pow(x, true).dtype).toBe('bool');
  expect(pow(x, true).toArray()).toEqual([true, false]);
  expect(x.pow(false).toArray()).toEqual([true, true]);
  expect(x.pow(false).dtype).toBe('bool');
  expect(x.pow(2).dtype).toBe('int64');
});

describe('gradients of least squares', () => {
  const a = [
    [1, 2],
    [3, 4.5],
    [5, 7],
  ];
  const close = (got: Tensor, wanted: number[][]): void => {
    const values = got.toArray() as number[][];
    wanted.forEach((row, i) => row.forEach((v, j) => expect(values[i]![j]).toBeCloseTo(v, 9)));
  };
  const gradients = (first: Tensor, second: Tensor): Tensor[] => {
    const [x, y] = [first.requiresGrad_(), second.requiresGrad_()];
    lstsq(x, y)[0].square().sum().backward();
    return [x.grad!, y.grad!];
  };

  it('with more rows than columns', () => {
    const b = tensor(
      [
        [1, 0],
        [2, 1],
        [0, 3],
      ],
      { dtype: 'float64' },
    );
    const [da, db] = gradients(tensor(a, { dtype: 'float64' }), b);
    close(da!, [
      [123.49725651577623, -83.65706447188003],
      [-37.15912208504804, 26.112482853223582],
      [-8.490397805212567, 5.133058984910878],
    ]);
    close(db!, [
      [19.75925925925933, -12.895061728395106],
      [5.592592592592618, -3.617283950617301],
      [-8.574074074074108, 5.660493827160515],
    ]);
  });

  it('with more columns than rows', () => {
    const wide = tensor(a, { dtype: 'float64' }).t().contiguous();
    const b = tensor(
      [
        [1, 0],
        [2, 1],
      ],
      { dtype: 'float64' },
    );
    const [da, db] = gradients(wide, b);
    close(da!, [
      [14.23251028806584, 4.695473251028851, -4.841563786008165],
      [-9.89711934156385, -3.267489711934203, 3.3621399176954556],
    ]);
    close(db!, [
      [-4.111111111111115, -7.4814814814814925],
      [2.888888888888891, 5.185185185185193],
    ]);
  });
});

it('polygamma of what is infinite', () => {
  const x = tensor([Infinity, -Infinity, 0], { dtype: 'float64' });
  expect(polygamma(1, x).toArray()).toEqual([0, NaN, Infinity]);
  expect(polygamma(2, x).toArray()).toEqual([NaN, -Infinity, -Infinity]);
  expect(polygamma(3, x).toArray()).toEqual([NaN, Infinity, Infinity]);
});

/** The results of an operator that only graphs name. */
const call = (name: string, ...args: unknown[]): Tensor[] =>
  [callOp(getOp(`aten::${name}`), args)].flat() as Tensor[];

it('the gradient of hardswish is NaN where the input is', () => {
  const x = tensor([NaN, -3, 0, 3]);
  expect(call('hardswish_backward', ones([4]), x)[0]!.toArray()).toEqual([NaN, 0, 0.5, 1]);
});

it('the derivative of the gradient of prelu counts 0 among what is positive', () => {
  const x = tensor([-2, 0, 2]).requiresGrad_();
  const grad = ones([3]).requiresGrad_();
  const weight = tensor([0.25]);
  const [forSelf] = call('_prelu_kernel_backward', grad, x, weight);
  expect(forSelf!.toArray()).toEqual([0.25, 0.25, 1]);
  forSelf!.sum().backward();
  expect(grad.grad!.toArray()).toEqual([0.25, 1, 1]);
});

it('images are resized with taps of no weight too', () => {
  const x = tensor([[[1, 2, Infinity, 4]]]);
  const [resized] = call('upsample_linear1d', x, [7], true, null);
  expect(resized!.toArray()).toEqual([[[1, 1.5, NaN, Infinity, Infinity, Infinity, 4]]]);
});

it('a single unreduced loss has a total weight', () => {
  const [loss, total] = call(
    'nll_loss_forward',
    tensor([1, 2, 3]),
    tensor(1, { dtype: 'int64' }),
    tensor([1, 4, 1]),
    0,
    -100,
  );
  expect([loss!.item(), total!.item()]).toEqual([-8, 4]);
});

it('a number has powers like a vector of one', () => {
  expect(vander(tensor(3), { n: 3 }).toArray()).toEqual([[1, 3, 9]]);
  expect(vander(tensor(3, { dtype: 'int16' }), { n: 2 }).dtype).toBe('int64');
});

it('weights of a covariance are refused if one is negative or no number, or if they cancel', () => {
  const x = ones([2, 2]);
  expect(() => cov(x, { aweights: tensor([1, NaN]) })).toThrow(/aweights cannot be negative/);
  expect(() => cov(x, { fweights: tensor([1, -1], { dtype: 'int64' }) })).toThrow(
    /fweights cannot be negative/,
  );
  expect(() => cov(x, { aweights: zeros([2]) })).toThrow(
    /weights sum to zero, can't be normalized/,
  );
});
