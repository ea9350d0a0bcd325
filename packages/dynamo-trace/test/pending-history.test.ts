/**
 * @file What a program is told of tensors that recorded writes, which have not run yet, give a history.
 */
import { Function, type FunctionContext, type Tensor, grad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

class TwiceTheSlope extends Function {
  static forward(ctx: FunctionContext, t: Tensor): Tensor {
    ctx.saveForBackward(t);
    return t.mul(t);
  }
  static backward(ctx: FunctionContext, slope: Tensor): Tensor {
    return slope.mul(ctx.savedTensors[0]!).mul(4);
  }
}

const weight = (): Tensor => tensor([3, 4]).requiresGrad_();

describe('a tensor that a recorded write gives a history', () => {
  it('takes gradients, is no leaf and keeps the graph whole', () => {
    const { call, graphs } = compileEager((x: Tensor, w: Tensor) => {
      const before = [x.requiresGrad, x.isLeaf];
      x.mul_(2);
      const between = x.requiresGrad;
      x.mul_(w);
      return [...before, between, x.requiresGrad, x.isLeaf, x.requiresGrad ? x.exp() : x.neg()];
    });
    for (let i = 0; i < 3; i++) {
      const result = call(tensor([1, 2]), weight());
      expect(result.slice(0, 5)).toEqual([false, true, false, true, false]);
      const exp = tensor([6, 16]).exp();
      expect((result[5] as Tensor).toArray()).toEqual(exp.toArray());
    }
    expect(graphs).toHaveLength(1);
  });

  it('is seen so through its views and its base', () => {
    const { call } = compileEager((x: Tensor, part: Tensor, w: Tensor) => {
      const other = x.view([2, 1]);
      part.mul_(w);
      return [x.requiresGrad, other.requiresGrad, part.requiresGrad, part.detach().requiresGrad];
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([1, 2]);
      expect(call(x, x.slice(0, 0, 1, 1), tensor([2]).requiresGrad_())).toEqual([
        true,
        true,
        true,
        false,
      ]);
    }
  });

  it('is seen so through a view that the trace does not know', () => {
    let view: Tensor;
    const { call } = compileEager((x: Tensor, w: Tensor) => {
      x.mul_(w);
      return [view.requiresGrad, view.isLeaf, view.mul(2)];
    });
    for (let i = 0; i < 3; i++) {
      const x = tensor([1, 2]);
      const w = weight();
      view = x.view([2, 1]);
      const [takes, isLeaf, double] = call(x, w) as [boolean, boolean, Tensor];
      expect([takes, isLeaf]).toEqual([true, false]);
      double.sum().backward();
      expect(w.grad!.toArray()).toEqual([2, 4]);
    }
  });

  it('gives gradients to a custom function of it', () => {
    const { call, graphs } = compileEager((x: Tensor, w: Tensor) => {
      x.mul_(w);
      return TwiceTheSlope.apply(x);
    });
    for (let i = 0; i < 3; i++) {
      const w = weight();
      call(tensor([1, 2]), w)
        .sum()
        .backward();
      expect(w.grad!.toArray()).toEqual([12, 64]);
    }
    expect(graphs).toHaveLength(1);
  });

  it('gives gradients to a custom function of a view made before the write', () => {
    const { call } = compileEager((x: Tensor, w: Tensor) => {
      const y = x.mul(1);
      const column = y.view([2, 1]);
      y.mul_(w);
      return [column.requiresGrad, TwiceTheSlope.apply(column)] as const;
    });
    for (let i = 0; i < 3; i++) {
      const w = weight();
      const [takes, y] = call(tensor([1, 2]), w);
      expect(takes).toBe(true);
      y.sum().backward();
      expect(w.grad!.toArray()).toEqual([12, 64]);
    }
  });

  it('has the node of that write as gradFn', () => {
    const { call } = compileEager((x: Tensor, w: Tensor) => {
      const before = x.gradFn?.name;
      x.mul_(w);
      return [before, x.gradFn?.name];
    });
    for (let i = 0; i < 3; i++) {
      expect(call(tensor([1, 2]), weight())).toEqual([undefined, 'MulBackward0']);
      expect(call(weight().exp(), weight())).toEqual(['ExpBackward0', 'MulBackward0']);
    }
  });

  it('cannot be made a tensor without gradients', () => {
    const { call } = compileEager((x: Tensor, w: Tensor) => {
      x.mul_(w);
      return x.requiresGrad_(false);
    });
    for (let i = 0; i < 3; i++)
      expect(() => call(tensor([1, 2]), weight())).toThrow(
        'only change requires_grad flags of leaf',
      );
  });

  it('is differentiated by grad() with the history that it has by then', () => {
    const { call } = compileEager(
      (x: Tensor, w: Tensor) => grad(x.mul_(w), [w], { gradOutputs: ones([2]) })[0]!,
    );
    for (let i = 0; i < 3; i++) {
      expect(call(tensor([1, 2]), weight()).toArray()).toEqual([1, 2]);
      const leaf = tensor([1, 2]).requiresGrad_();
      expect(call(leaf.mul(3), weight()).toArray()).toEqual([3, 6]);
    }
  });
});
