/**
 * @file The examples of PyTorch's documentation with other arguments: what PyTorch 2.13 refuses is refused.
 */
import { expect, it } from 'vitest';
import { broadcastShapes, norm, ones, tensor, zeros } from '../src/index.js';
import * as linalg from '../src/linalg.js';

const column = ones([3, 1]);

function refused(code: string, message: RegExp): unknown {
  return expect.objectContaining({ code, message: expect.stringMatching(message) });
}

it.each([
  [[3, -99], /expanded size of the tensor \(-99\) must match the existing size \(1\)/],
  [[-1, 3, 1], /size of the tensor \(-1\) must match the existing size \(1\).* dimension 0/],
  [[-2, 3, 1], /size of the tensor \(-2\) must match the existing size \(1\).* dimension 0/],
  [[-2, 1], /expanded size of the tensor \(-2\) must match the existing size \(3\)/],
])('expand(%j) has a negative size', (sizes, message) => {
  expect(() => column.expand(sizes)).toThrow(refused('shape-mismatch', message));
});

it('expand keeps sizes for -1, and makes none of nothing', () => {
  expect(column.expand([2, -1, 4]).sizes).toEqual([2, 3, 4]);
  expect(column.expand([0, -1, -1]).sizes).toEqual([0, 3, 1]);
  expect(tensor(1).expand([2, 0]).sizes).toEqual([2, 0]);
});

it('largest and smallest norms of nothing are refused', () => {
  const x = zeros([2, 0]);
  for (const ord of [Infinity, -Infinity, -1]) {
    const message = /vector_norm\(\): Expected reduction dim 1 to have non-zero size/;
    expect(() => norm(x, ord)).toThrow(refused('shape-mismatch', message));
    expect(() => x.norm(ord, 1)).toThrow(refused('shape-mismatch', message));
    expect(norm(x, ord, 0).sizes).toEqual([0]);
  }
  expect(norm(x, 0).item()).toBe(0);
  expect(norm(x, 0.5, 1).toArray()).toEqual([0, 0]);
});

it('luSolve takes what luFactor gives', () => {
  const a = tensor([
    [2, 1],
    [1, 3],
  ]);
  const [lu, pivots] = linalg.luFactor(a.expand([3, 2, 2]));
  const b = ones([3, 2, 1]);
  const { luSolve } = linalg;
  expect(luSolve(lu, pivots, b).sizes).toEqual([3, 2, 1]);
  expect(luSolve(lu.index(':1'), pivots.index(':1'), b).sizes).toEqual([3, 2, 1]);
  expect(() => luSolve(lu, pivots.to('int64'), b)).toThrow(
    refused('dtype-mismatch', /pivots should be a Tensor of scalar type torch.int32/),
  );
  for (const other of [pivots.index(':1'), pivots.index(0), pivots.index(0, 0)])
    expect(() => luSolve(lu, other, b)).toThrow(
      refused('shape-mismatch', /Expected LU.shape\[:-1\] and pivots.shape to be the same/),
    );
  expect(() => luSolve(lu, pivots, b.to('float64'))).toThrow(
    refused('dtype-mismatch', /Expected LU and B to have the same dtype/),
  );
  expect(() => luSolve(lu, pivots, ones([2]))).toThrow(
    refused('shape-mismatch', /B must have at least 2 dimensions/),
  );
});

it('lstsq takes a right side of as many dimensions, or one fewer', () => {
  const a = ones([1, 3, 2]);
  expect(linalg.lstsq(a, ones([1, 3]))[0].sizes).toEqual([1, 2]);
  expect(() => linalg.lstsq(a, ones([1, 1, 3, 2]))).toThrow(
    refused('shape-mismatch', /input.dim\(\) must be greater or equal to other.dim\(\)/),
  );
  expect(() => linalg.lstsq(a, ones([3]))).toThrow(
    refused('shape-mismatch', /\(input.dim\(\) - other.dim\(\)\) <= 1/),
  );
});

it('shapes are broadcast', () => {
  expect(broadcastShapes([[2], [3, 1], [1, 1, 1]])).toEqual([1, 3, 2]);
});
