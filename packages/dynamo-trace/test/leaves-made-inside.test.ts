/**
 * @file `requiresGrad_()` of values that a compiled function makes.
 */
import {
  Function,
  type FunctionContext,
  type Tensor,
  enableGrad,
  grad,
  manualSeed,
  noGrad,
  randn,
  tensor,
  zerosLike,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

const w = (): Tensor =>
  tensor([
    [0.5, -1],
    [2, 0.3],
  ]).requiresGrad_();

/** Results, and gradients of the weights, of a few calls in eager mode and compiled. */
function compared(
  fn: (x: Tensor, w: Tensor) => Tensor | Tensor[],
  after: (results: Tensor[], w: Tensor) => Tensor[] = (results) => results,
): { graphs: number; perCall: number[] } {
  const { call, graphs } = compileEager(fn);
  const perCall: number[] = [];
  for (let i = 0; i < 4; i++) {
    manualSeed(i);
    const x = randn([3, 2]);
    const [eager, compiled] = [fn, call].map((run) => {
      manualSeed(7);
      const weight = w();
      const found = [run(x.clone(), weight)].flat();
      return [...after(found, weight), ...(weight.grad === null ? [] : [weight.grad])].map((t) => [
        t.toArray(),
        t.requiresGrad,
        t.isLeaf,
      ]);
    });
    expect(compiled, `call ${i}`).toEqual(eager);
    perCall.push(graphs.length);
  }
  return { graphs: graphs.length, perCall };
}

const score = (x: Tensor, weight: Tensor): Tensor => x.matmul(weight).tanh().pow(2).sum();

describe('a leaf made inside a compiled function', () => {
  it('is part of one graph where its gradient is asked for by grad()', () => {
    const attack = (x: Tensor, weight: Tensor): Tensor => {
      let delta = zerosLike(x);
      for (let i = 0; i < 3; i++) {
        delta = delta.detach().requiresGrad_();
        const [slope] = grad(score(x.add(delta), weight), [delta]) as [Tensor];
        delta = delta.add(slope.sign(), { alpha: 0.1 }).clamp(-0.2, 0.2).detach();
      }
      return x.add(delta);
    };
    expect(compared(attack).graphs).toBe(1);
  });

  it('gets a gradient by backward(), beside the parameters', () => {
    const step = (x: Tensor, weight: Tensor): Tensor => {
      const noise = x.mul(0.1).requiresGrad_();
      score(x.add(noise), weight).backward();
      return noise.grad!.mul(2);
    };
    expect(compared(step).graphs).toBe(1);
  });

  it('is changed in place, and gets gradients again', () => {
    const descend = (x: Tensor, weight: Tensor): Tensor => {
      const z = x.clone().requiresGrad_();
      for (let i = 0; i < 3; i++) {
        z.grad = null;
        score(z, weight.detach()).backward();
        noGrad(() => z.sub_(z.grad!.mul(0.1)));
      }
      return z.detach();
    };
    expect(compared(descend).graphs).toBe(1);
  });

  it('penalises gradients, whose gradients go on to the parameters', () => {
    const penalty = (x: Tensor, weight: Tensor): Tensor => {
      const between = x.mul(0.5).requiresGrad_();
      const [slope] = grad(score(between, weight), [between], { createGraph: true }) as [Tensor];
      const loss = slope.pow(2).sum(1).sqrt().sub(1).pow(2).mean();
      loss.backward();
      return loss.detach();
    };
    expect(compared(penalty).graphs).toBe(1);
  });

  it('may be made of values, behind operators that do not know it', () => {
    const { graphs } = compared((x, weight) => {
      const y = x.mul(2);
      const scale = tensor([0.5, 2]).requiresGrad_();
      const [slope] = grad(score(y.mul(scale), weight), [scale]) as [Tensor];
      return slope;
    });
    expect(graphs).toBe(1);
  });

  it('is made by the backward of a custom function, which calls grad()', () => {
    class Cube extends Function {
      static forward(ctx: FunctionContext, x: Tensor): Tensor {
        ctx.saveForBackward(x);
        return x.pow(3);
      }
      static backward(ctx: FunctionContext, slope: Tensor): Tensor {
        const x = ctx.savedTensors[0]!;
        return enableGrad(() => {
          const leaf = x.detach().requiresGrad_();
          return grad(leaf.pow(3), [leaf], { gradOutputs: slope })[0]!;
        });
      }
    }
    const { graphs } = compared((x, weight) => {
      const loss = Cube.apply(x.matmul(weight)).sin().sum();
      loss.backward();
      return loss.detach();
    });
    expect(graphs).toBe(1);
  });

  it('is a result that takes gradients from outside', () => {
    const made = (x: Tensor): Tensor[] => {
      const leaf = x.mul(2).requiresGrad_();
      return [leaf, leaf.pow(3).sum()];
    };
    const { graphs, perCall } = compared(made, ([leaf, loss]) => {
      loss!.backward();
      return [leaf!, leaf!.grad!];
    });
    expect(graphs).toBe(perCall[1]);
  });

  it('takes gradients from outside through a result alone, although the leaf is in a closure', () => {
    let kept: Tensor | null = null;
    const made = (x: Tensor): Tensor => {
      kept = x.mul(2).requiresGrad_();
      return kept.pow(3).sum();
    };
    compared(made, ([loss]) => {
      loss!.backward();
      return [kept!, kept!.grad!];
    });
  });

  it('takes gradients from outside also by what a derivative inside has not used up', () => {
    let kept: Tensor | null = null;
    const made = (x: Tensor): Tensor[] => {
      kept = x.mul(2).requiresGrad_();
      const sum = x.add(kept);
      return [sum, grad(sum.pow(2).sum(), [kept])[0]!];
    };
    compared(made, ([sum, slope]) => {
      sum!.sum().backward();
      return [kept!, kept!.grad!, slope!];
    });
  });

  it('keeps what was computed before without history', () => {
    compared((x, weight) => {
      const h = x.mul(3);
      const before = h.mul(2);
      const [slope] = grad(score(h.requiresGrad_(), weight), [h]) as [Tensor];
      return [before, slope];
    });
  });

  it('of which there are views has a graph break, as views get its history by writes', () => {
    compared((x, weight) => {
      const h = x.mul(3);
      const row = h.select(0, 0);
      const leaf = h.requiresGrad_();
      noGrad(() => row.mul_(2));
      const [slope] = grad(score(leaf, weight), [leaf]) as [Tensor];
      return [row.mul(1), slope];
    });
  });

  it('may be told not to take gradients again', () => {
    compared((x, weight) => {
      const h = x.mul(3).requiresGrad_();
      const [slope] = grad(score(h, weight), [h]) as [Tensor];
      h.requiresGrad_(false);
      return [h.mul(2), slope];
    });
  });

  it('may be left after a graph break, with hooks, and read', () => {
    compared((x, weight) => {
      const h = x.mul(3).requiresGrad_();
      const y = score(h, weight);
      expect(y.item()).toBeGreaterThanOrEqual(0);
      y.backward();
      return [h.grad!];
    });
    compared((x, weight) => {
      const h = x.mul(3).requiresGrad_();
      h.registerHook((g) => g.mul(5));
      score(h, weight).backward();
      return [h.grad!];
    });
  });

  it('is another one when the program goes another way', () => {
    let turn = 0;
    const { call } = compileEager((x: Tensor, weight: Tensor) => {
      const h = x.mul(3);
      if (turn % 2 === 1) h.requiresGrad_();
      const y = score(h, weight);
      y.backward();
      return [h.requiresGrad, h.grad?.toArray() ?? null, weight.grad!.toArray()];
    });
    const fn = (x: Tensor, weight: Tensor): unknown => {
      const h = x.mul(3);
      if (turn % 2 === 1) h.requiresGrad_();
      score(h, weight).backward();
      return [h.requiresGrad, h.grad?.toArray() ?? null, weight.grad!.toArray()];
    };
    const x = randn([3, 2]);
    for (turn = 0; turn < 6; turn++) expect(call(x, w()), `${turn}`).toEqual(fn(x, w()));
  });
});
