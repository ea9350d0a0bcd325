import { describe, expect, it } from 'vitest';
import { type Tensor, add, mul, tensor } from '@tessera/tensor';
import { explainFunction } from '../src/index.js';
import { compileEager } from './compile-for-test.js';

const grid = (): Tensor =>
  tensor([
    [0, 1, 2],
    [3, 4, 5],
  ]);

describe('layouts changed in place inside a compiled function', () => {
  it('break the graph, say why, and replay', () => {
    const {
      call,
      function: compiled,
      graphs,
    } = compileEager((x: Tensor) => {
      const y = mul(x, 2);
      y.t_();
      return add(y, 1).unsqueeze_(0);
    });
    for (let i = 0; i < 3; i++)
      expect(call(grid()).toArray()).toEqual([
        [
          [1, 7],
          [3, 9],
          [5, 11],
        ],
      ]);
    expect(graphs.length).toBe(2);
    expect(explainFunction(compiled).breakReasons.map(({ reason }) => reason)).toContain(
      'aten::t_ changes the shape, strides or history of a tensor in place',
    );
  });

  it('reach the arguments of the caller', () => {
    const { call } = compileEager((x: Tensor) => {
      const y = add(x, 1);
      x.transpose_(0, 1);
      return add(mul(x, 2), y.t());
    });
    for (let i = 0; i < 3; i++) {
      const x = grid();
      expect(call(x).toArray()).toEqual([
        [1, 10],
        [4, 13],
        [7, 16],
      ]);
      expect(x.shape).toEqual([3, 2]);
    }
  });

  it('carry gradients across the break', () => {
    const { call } = compileEager((x: Tensor) => {
      const y = mul(x, x);
      y.t_();
      return mul(y, tensor([1, 10])).sum();
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]).requiresGrad_();
      call(x).backward();
      expect(x.grad!.toArray()).toEqual([
        [2, 4, 6],
        [80, 100, 120],
      ]);
    }
  });
});
