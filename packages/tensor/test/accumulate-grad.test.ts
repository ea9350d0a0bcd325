import { describe, expect, it } from 'vitest';
import { ones, tensor } from '../src/index.js';

describe('gradients of leaves', () => {
  it('have memory of their own although the formula gives one tensor to two inputs', () => {
    const a = ones([2]).requiresGrad_();
    const b = ones([2]).requiresGrad_();
    for (let round = 0; round < 2; round++) a.add(b).mul(2).sum().backward();
    expect(a.grad?.toArray()).toEqual([4, 4]);
    expect(b.grad?.toArray()).toEqual([4, 4]);
    a.grad?.mul_(0);
    expect(b.grad?.toArray()).toEqual([4, 4]);
  });

  it('do not take over a gradient that the caller passed in', () => {
    const a = ones([2]).requiresGrad_();
    const seed = tensor([1, 2]);
    a.backward(seed);
    a.backward(seed);
    expect(a.grad?.toArray()).toEqual([2, 4]);
    expect(seed.toArray()).toEqual([1, 2]);
  });
});
