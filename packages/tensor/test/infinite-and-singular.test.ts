/**
 * @file What PyTorch gives for infinities, singular matrices and differences of bools; values recorded from it.
 */
import { describe, expect, it } from 'vitest';
import { onesLike, tensor } from '../src/index.js';
import { rsub } from '../src/internal.js';
import { choleskyEx } from '../src/linalg.js';

const inf = Infinity;

describe('the gradient of logcumsumexp', () => {
  it.each([
    [
      [1, -inf, 2],
      [2.2689414024353027, 0, 0.7310585379600525],
    ],
    [
      [-inf, -inf, 1],
      [NaN, NaN, 1],
    ],
    [
      [inf, 1, 2],
      [NaN, 0, 0],
    ],
    [
      [1, inf, -inf, inf],
      [1, NaN, 0, NaN],
    ],
    [[-inf], [NaN]],
    [
      [1, inf, inf],
      [1, NaN, NaN],
    ],
  ])('of %j', (values, wanted) => {
    const x = tensor(values, { requiresGrad: true });
    const y = x.logcumsumexp(0);
    y.backward(onesLike(y));
    expect(x.grad!.toArray()).toEqual(
      wanted.map((value) => (Number.isNaN(value) ? NaN : expect.closeTo(value, 6))),
    );
  });
});

describe('choleskyEx of a matrix that is not positive-definite', () => {
  const matrix = tensor([
    [4, 2, 1, 7],
    [2, 5, 3, 8],
    [1, 3, -2, 9],
    [7, 8, 9, 1],
  ]);

  it('leaves the lower triangle as far as it came', () => {
    const [L, info] = choleskyEx(matrix);
    expect(info.item()).toBe(3);
    expect(L.toArray()).toEqual([
      [2, 0, 0, 0],
      [1, 2, 0, 0],
      [0.5, 1.25, -3.8125, 0],
      [3.5, 2.25, 9, 1],
    ]);
    const [factor, order] = choleskyEx(
      tensor([
        [1, 2],
        [2, 4],
      ]),
    );
    expect([factor.toArray(), order.item()]).toEqual([
      [
        [1, 0],
        [2, 0],
      ],
      2,
    ]);
  });

  it('or the upper one', () => {
    const [L, info] = choleskyEx(matrix, { upper: true });
    expect(info.item()).toBe(3);
    expect(L.toArray()).toEqual([
      [2, 1, 0.5, 3.5],
      [0, 2, 1.25, 2.25],
      [0, 0, -3.8125, 9],
      [0, 0, 0, 1],
    ]);
  });
});

it('a difference of bools is refused in PyTorch’s words, also the other way round', () => {
  const one =
    'Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.';
  const two =
    'Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.';
  const [x, mask] = [tensor([1]), tensor([true])];
  expect(() => rsub(x, true)).toThrow(one);
  expect(() => rsub(mask, 1)).toThrow(one);
  expect(() => rsub(x, mask)).toThrow(one);
  expect(() => rsub(mask, true)).toThrow(two);
  expect(() => rsub(mask, mask)).toThrow(two);
  expect(() => x.sub(true)).toThrow(one);
});

it('renorm leaves rows with NaN as they are, and their gradients', () => {
  const x = tensor(
    [
      [NaN, 3, 4],
      [3, 4, 0],
    ],
    { requiresGrad: true },
  );
  const y = x.renorm(2, 0, 1);
  y.sum().backward();
  expect(y.toArray()).toEqual([
    [NaN, 3, 4],
    [Math.fround(0.6), Math.fround(0.8), 0].map((v) => expect.closeTo(v, 6)),
  ]);
  expect(x.grad!.toArray()).toEqual([
    [1, 1, 1],
    [0.032, -0.024, 0.2].map((v) => expect.closeTo(v, 6)),
  ]);
});
