import { Function, type FunctionContext, type Tensor, grad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

/** exp with ten times its gradient, so that it is seen which backward ran. */
class Exp extends Function {
  static forward(ctx: FunctionContext, x: Tensor): Tensor {
    const y = x.exp();
    ctx.saveForBackward(y);
    return y;
  }
  static backward(ctx: FunctionContext, g: Tensor): Tensor {
    return g.mul(ctx.savedTensors[0]!).mul(10);
  }
}

describe('autograd inside compiled functions', () => {
  it('runs a custom Function as a graph break, with its own backward', () => {
    const f = compile((x: Tensor) => Exp.apply(x.mul(2)).add(1).sum(), { backend: 'eager' });
    for (const value of [0, 0.5, 1]) {
      const x = tensor([0, value], { requiresGrad: true });
      const y = f(x);
      expect(y.item()).toBeCloseTo(1 + Math.exp(2 * value) + 2, 4);
      y.backward();
      expect(x.grad!.select(0, 0).item()).toBeCloseTo(20, 4);
      expect(x.grad!.select(0, 1).item()).toBeCloseTo(20 * Math.exp(2 * value), 3);
    }
  });

  it('captures grad()', () => {
    const f = compile((x: Tensor) => grad(x.mul(x).sum(), x)[0]!, { backend: 'eager' });
    for (const value of [2, 3, 4]) {
      expect(f(tensor([1, value], { requiresGrad: true })).toArray()).toEqual([2, 2 * value]);
    }
  });
});
