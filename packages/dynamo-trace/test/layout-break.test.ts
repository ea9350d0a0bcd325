import { describe, expect, it } from 'vitest';
import { type Tensor, add, mul, tensor } from '@tessera/tensor';
import { disable, explainFunction } from '../src/index.js';
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

  it('are seen by code behind them, whichever tensor they changed', () => {
    const { call } = compileEager((a: Tensor, b: Tensor, dim: number) => {
      const filled = a.fill_(2);
      b.unsqueeze_(dim);
      return filled.add(1);
    });
    expect(call(grid(), grid(), 0).shape).toEqual([2, 3]);
    const same = grid();
    expect(call(same, same, 0).shape).toEqual([1, 2, 3]);
    const last = grid();
    expect(call(last, last, -1).shape).toEqual([2, 3, 1]);
    expect(call(grid(), grid(), 0).shape).toEqual([2, 3]);
  });

  it('are seen behind a disabled function', () => {
    let turn = false;
    const maybe = disable((t: Tensor) => (turn ? t.t_() : t));
    const { call } = compileEager((a: Tensor) => {
      const y = a.mul(2);
      maybe(y);
      return y.add(1);
    });
    for (const now of [false, true, false, true]) {
      turn = now;
      expect(call(grid()).shape).toEqual(now ? [3, 2] : [2, 3]);
    }
  });

  it('requiresGrad_() is seen by code behind it, whichever tensor it changed', () => {
    const { call } = compileEager((a: Tensor, b: Tensor) => {
      const filled = a.fill_(2);
      b.requiresGrad_();
      return filled.mul(2);
    });
    expect(call(grid(), grid()).requiresGrad).toBe(false);
    const same = grid();
    expect(call(same, same).requiresGrad).toBe(true);
    expect(call(grid(), grid()).requiresGrad).toBe(false);
  });
});
