/**
 * @file Programs in which the fuzzer found that gradients inside compiled functions differed from eager mode.
 */
import { type Tensor, grad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

describe('gradients in compiled functions, found by pnpm fuzz', () => {
  it('are laid out like their leaves', () => {
    const { call } = compileEager((x: Tensor) => {
      x.mul(2).sum().backward();
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([
        [1, 2, 3],
        [4, 5, 6],
      ])
        .t()
        .requiresGrad_();
      call(x);
      expect(x.grad!.strides).toEqual([1, 3]);
    }
  });

  it('of grad() are found through history outside the function', () => {
    const { call } = compileEager((x: Tensor, y: Tensor) => grad(y.mul(y).sum(), [x])[0]!);
    for (let i = 1; i < 4; i++) {
      const x = tensor([i, 2]).requiresGrad_();
      const y = x.mul(3);
      expect(call(x, y).toArray()).toEqual([18 * i, 36]);
    }
  });

  it('can be asked for twice if the graph is retained', () => {
    const { call } = compileEager((x: Tensor) => {
      const y = x.exp();
      y.sum().backward(null, { retainGraph: true });
      return y;
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([0]).requiresGrad_();
      call(x).sum().backward();
      expect(x.grad!.toArray()).toEqual([2]);
    }
  });

  it('find the base of a view after it was laid out anew', () => {
    const { call } = compileEager((x: Tensor) => {
      const y = x.neg();
      const part = y.slice(1, 0, null, 2);
      y.transpose_(0, 1);
      return part;
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([[1, 2, 3]]).requiresGrad_();
      call(x).sum().backward();
      expect(x.grad!.toArray()).toEqual([[-1, -0, -1]]);
    }
  });

  it('go to the leaves of history that a later call brings', () => {
    const { call } = compileEager((x: Tensor) => {
      x.sum().backward();
    });
    const leaf = tensor([1, 2]).requiresGrad_();
    for (const x of [leaf, leaf.mul(3), leaf.mul(4)]) call(x);
    expect(leaf.grad!.toArray()).toEqual([8, 8]);
  });

  it('used up inside leave what was modified with history', () => {
    const { call } = compileEager((x: Tensor, w: Tensor) => {
      const y = x.mul_(w);
      y.sum().backward();
      return y;
    });
    for (let i = 0; i < 3; i++) {
      const y = call(tensor([1, 2]), tensor([3, 4]).requiresGrad_());
      expect(y.requiresGrad).toBe(true);
    }
  });

  it('cannot be asked for twice otherwise', () => {
    const { call } = compileEager((x: Tensor) => {
      const y = x.exp();
      y.sum().backward();
      return y;
    });
    for (let i = 0; i < 3; i++) {
      const y = call(tensor([0]).requiresGrad_());
      expect(() => y.sum().backward()).toThrow(/backward-twice/);
    }
  });
});
