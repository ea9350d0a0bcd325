import { describe, expect, it } from 'vitest';
import {
  Function,
  type FunctionContext,
  type Tensor,
  grad,
  noGrad,
  onceDifferentiable,
  ones,
  randn,
  tensor,
} from '../src/index.js';

class Exp extends Function {
  static forward(ctx: FunctionContext, x: Tensor): Tensor {
    const y = x.exp();
    ctx.saveForBackward(y);
    return y;
  }
  static backward(ctx: FunctionContext, g: Tensor): Tensor {
    return g.mul(ctx.savedTensors[0]!);
  }
}

class Scale extends Function {
  static forward(ctx: FunctionContext, x: Tensor, factor: number): Tensor {
    ctx.factor = factor;
    return x.mul(factor);
  }
  static backward(ctx: FunctionContext, g: Tensor): (Tensor | null)[] {
    return [g.mul(ctx.factor as number), null];
  }
}

class SplitInTwo extends Function {
  static forward(ctx: FunctionContext, x: Tensor): [Tensor, Tensor] {
    const index = x.argmax();
    ctx.markNonDifferentiable(index);
    return [x.mul(2), x.mul(3)];
  }
  static backward(_ctx: FunctionContext, a: Tensor | null, b: Tensor | null): Tensor {
    return a!.mul(2).add(b!.mul(3));
  }
}

describe('custom Function', () => {
  it('uses its own backward', () => {
    const x = tensor([0, 1], { requiresGrad: true });
    const y = Exp.apply(x);
    expect(y.gradFn!.name).toBe('ExpBackward');
    y.sum().backward();
    expect(x.grad!.select(0, 1).item()).toBeCloseTo(Math.E, 5);
  });

  it('passes values that are not tensors, with null for their gradient', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    Scale.apply(x, 5).sum().backward();
    expect(x.grad!.toArray()).toEqual([5, 5]);
  });

  it('gets zeros for results without a gradient', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const [, b] = SplitInTwo.apply(x);
    b.sum().backward();
    expect(x.grad!.toArray()).toEqual([3, 3]);
  });

  it('supports double backward through differentiable ops', () => {
    const x = tensor([0.5], { requiresGrad: true });
    const [first] = grad(Exp.apply(x).sum(), x, { createGraph: true });
    const [second] = grad(first!, x);
    expect(second!.item()).toBeCloseTo(Math.exp(0.5), 5);
  });

  it('records nothing under noGrad and says which gradients are wanted', () => {
    const wanted: boolean[][] = [];
    class Probe extends Function {
      static forward(ctx: FunctionContext, a: Tensor, b: Tensor): Tensor {
        wanted.push([...ctx.needsInputGrad]);
        return a.add(b);
      }
      static backward(ctx: FunctionContext, g: Tensor): (Tensor | null)[] {
        return [g, ctx.needsInputGrad[1] ? g : null];
      }
    }
    const a = ones([2], { requiresGrad: true });
    expect(noGrad(() => Probe.apply(a, ones([2]))).requiresGrad).toBe(false);
    Probe.apply(a, ones([2]))
      .sum()
      .backward();
    expect(wanted).toEqual([
      [false, false],
      [true, false],
    ]);
    expect(a.grad!.toArray()).toEqual([1, 1]);
  });

  it('modifies an argument in place when it is marked dirty', () => {
    class Double_ extends Function {
      static forward(ctx: FunctionContext, x: Tensor): Tensor {
        ctx.markDirty(x);
        return x.mul_(2);
      }
      static backward(_ctx: FunctionContext, g: Tensor): Tensor {
        return g.mul(2);
      }
    }
    const leaf = tensor([1, 2], { requiresGrad: true });
    const x = leaf.mul(1);
    const y = Double_.apply(x);
    expect(y).toBe(x);
    expect(x.gradFn!.name).toBe('Double_Backward');
    x.sum().backward();
    expect(leaf.grad!.toArray()).toEqual([2, 2]);
    expect(() => Double_.apply(leaf)).toThrow(/a leaf Variable that requires grad/);
  });

  it('rewrites the history of the base when a view is marked dirty', () => {
    class Zero_ extends Function {
      static forward(ctx: FunctionContext, x: Tensor): Tensor {
        ctx.markDirty(x);
        return x.zero_();
      }
      static backward(_ctx: FunctionContext, g: Tensor): Tensor {
        return g.mul(0);
      }
    }
    const leaf = ones([4], { requiresGrad: true });
    const base = leaf.mul(3);
    Zero_.apply(base.narrow(0, 0, 2));
    base.sum().backward();
    expect(leaf.grad!.toArray()).toEqual([0, 0, 3, 3]);
  });

  it('returns an untouched argument as a tensor of its own', () => {
    class Identity extends Function {
      static forward(_ctx: FunctionContext, x: Tensor): Tensor {
        return x;
      }
      static backward(_ctx: FunctionContext, g: Tensor): Tensor {
        return g.mul(10);
      }
    }
    const x = ones([2], { requiresGrad: true });
    const y = Identity.apply(x);
    expect(y).not.toBe(x);
    expect(y.dataPtr()).toBe(x.dataPtr());
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([10, 10]);
  });

  it('refuses gradients of the wrong number or shape', () => {
    class Wrong extends Function {
      static forward(_ctx: FunctionContext, a: Tensor, b: Tensor): Tensor {
        return a.add(b);
      }
      static backward(_ctx: FunctionContext, g: Tensor): Tensor {
        return g;
      }
    }
    class Misshapen extends Function {
      static forward(_ctx: FunctionContext, a: Tensor): Tensor {
        return a.mul(1);
      }
      static backward(): Tensor {
        return ones([3]);
      }
    }
    const x = ones([2], { requiresGrad: true });
    expect(() =>
      Wrong.apply(x, ones([2]))
        .sum()
        .backward(),
    ).toThrow(/incorrect number of gradients \(expected 2, got 1\)/);
    expect(() => Misshapen.apply(x).sum().backward()).toThrow(
      /invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]/,
    );
  });

  it('notices saved tensors that were modified, and a second backward', () => {
    const x = ones([2], { requiresGrad: true });
    const y = Exp.apply(x);
    noGrad(() => y.add_(1));
    expect(() => y.sum().backward()).toThrow(/modified by an inplace operation/);
    const z = Exp.apply(randn([2], { requiresGrad: true })).sum();
    z.backward();
    expect(() => z.backward()).toThrow(/backward-twice/);
  });

  it('gets null for results without a gradient if it asks for that', () => {
    const seen: (Tensor | null)[][] = [];
    class Pair extends Function {
      static forward(ctx: FunctionContext, x: Tensor): [Tensor, Tensor] {
        ctx.setMaterializeGrads(false);
        return [x.mul(2), x.mul(3)];
      }
      static backward(_ctx: FunctionContext, a: Tensor | null, b: Tensor | null): Tensor | null {
        seen.push([a, b]);
        return b;
      }
    }
    const x = ones([2], { requiresGrad: true });
    Pair.apply(x)[1].sum().backward();
    expect(seen[0]![0]).toBeNull();
    expect(seen[0]![1]!.toArray()).toEqual([1, 1]);
  });

  it('gives floating results without history where they are marked so', () => {
    class Parts extends Function {
      static forward(ctx: FunctionContext, x: Tensor): [Tensor, Tensor] {
        const rounded = x.round();
        ctx.markNonDifferentiable(rounded);
        return [x.mul(2), rounded];
      }
      static backward(_ctx: FunctionContext, a: Tensor | null): Tensor {
        return a!.mul(2);
      }
    }
    const [value, rounded] = Parts.apply(ones([2], { requiresGrad: true }));
    expect([value.requiresGrad, rounded.requiresGrad]).toEqual([true, false]);
  });

  it('refuses a second derivative of a backward that may run once', () => {
    class Square extends Function {
      static forward(ctx: FunctionContext, x: Tensor): Tensor {
        ctx.saveForBackward(x);
        return x.mul(x);
      }
      static backward = onceDifferentiable((ctx: FunctionContext, g: Tensor) =>
        g.mul(ctx.savedTensors[0]!).mul(2),
      );
    }
    const x = tensor([3], { requiresGrad: true });
    expect(grad(Square.apply(x), x)[0]!.item()).toBe(6);
    const g = tensor([1], { requiresGrad: true });
    const [first] = grad(Square.apply(x), x, { gradOutputs: g, createGraph: true });
    expect([first!.item(), first!.requiresGrad]).toEqual([6, true]);
    expect(() => first!.backward()).toThrow(/trying to differentiate twice a function/);
  });
});
