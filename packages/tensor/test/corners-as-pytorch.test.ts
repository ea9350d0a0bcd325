/**
 * @file Corners where PyTorch 2.13 was called beside, with what it gave.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, pow, tensor } from '../src/index.js';
import { lstsq, vectorNorm } from '../src/linalg.js';

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
