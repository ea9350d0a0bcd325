/**
 * @file Hooks on gradients, and a second backward, inside compiled training steps: as in eager.
 */
import { Function, type FunctionContext, type Tensor, grad, tensor } from '@tessera/tensor';
import { registerMultiGradHook } from '@tessera/tensor/more';
import * as nn from '@tessera/nn';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

const BACKENDS = ['eager', 'aot_eager', 'inductor'] as const;

describe.each(BACKENDS)('with %s', (backend) => {
  const stepOf = (
    w: Tensor,
    compiled: boolean,
    body: (loss: Tensor) => void = (loss) => loss.backward(),
  ): ((x: Tensor) => unknown) => {
    const step = (x: Tensor): Tensor => {
      w.grad = null;
      const loss = w.mul(x).sum();
      body(loss);
      return loss;
    };
    const call = compiled ? compile(step, { backend }) : step;
    return (x) => [call(x).item(), w.grad!.toArray()];
  };

  /** What four calls give, with a hook from the third on and none in the fourth. */
  const outcome = (
    compiled: boolean,
    hook: (w: Tensor, seen: unknown[]) => () => void,
  ): unknown => {
    const w = tensor([1, 2], { requiresGrad: true });
    const call = stepOf(w, compiled);
    const seen: unknown[] = [];
    const results = [call(tensor([1, 2])), call(tensor([2, 3]))];
    const remove = hook(w, seen);
    results.push(call(tensor([3, 4])), call(tensor([4, 5])));
    remove();
    results.push(call(tensor([5, 6])));
    return [results, seen];
  };

  it('a hook on a parameter changes its gradient', () => {
    const hook = (w: Tensor, seen: unknown[]): (() => void) => {
      const handle = w.registerHook((g) => {
        seen.push(g.toArray());
        return g.mul(10);
      });
      return () => handle.remove();
    };
    expect(outcome(true, hook)).toEqual(outcome(false, hook));
  });

  it('a hook after accumulation sees the gradient', () => {
    const hook = (w: Tensor, seen: unknown[]): (() => void) => {
      const handle = w.registerPostAccumulateGradHook((leaf) => seen.push(leaf.grad!.toArray()));
      return () => handle.remove();
    };
    expect(outcome(true, hook)).toEqual(outcome(false, hook));
  });

  it.each(['all', 'any'] as const)('a hook on several gradients sees %s', (mode) => {
    const hook = (w: Tensor, seen: unknown[]): (() => void) => {
      const v = tensor([1, 2], { requiresGrad: true });
      const handle =
        mode === 'all'
          ? registerMultiGradHook([w, v], (grads) => {
              seen.push(grads.map((g) => g?.toArray() ?? null));
            })
          : registerMultiGradHook([v, w], (g) => seen.push(g.toArray()), { mode });
      return () => handle.remove();
    };
    const seen = outcome(true, hook);
    expect(seen).toEqual(outcome(false, hook));
    expect(seen).toHaveProperty('1.length', 2);
  });

  it('a hook on several gradients is set inside', () => {
    const outcomes = [true, false].map((compiled) => {
      const w = tensor([1, 2], { requiresGrad: true });
      const seen: unknown[] = [];
      const call = stepOf(w, compiled, (loss) => {
        registerMultiGradHook([w, loss], (grads) => {
          seen.push(grads.map((g) => g?.toArray() ?? null));
        }).remove();
        const twice = loss.mul(2);
        const handle = registerMultiGradHook([twice, w], (grads) => {
          seen.push(grads.map((g) => g?.toArray() ?? null));
        });
        twice.backward();
        handle.remove();
      });
      return [[1, 2, 3, 4].map((x) => call(tensor([x, x + 1]))), seen];
    });
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect(outcomes[0]![1]).toHaveLength(4);
  });

  it('grad() calls hooks of its inputs', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    w.registerHook((g) => g.mul(3));
    const fn = (x: Tensor): Tensor => grad(w.mul(x).mul(w).sum(), w)[0]!.add(1);
    const call = compile(fn, { backend });
    for (const x of [tensor([1, 2]), tensor([3, 4]), tensor([5, 6])])
      expect(call(x).toArray()).toEqual(fn(x).toArray());
  });

  it('a second backward needs retainGraph', () => {
    const twice = (retainGraph: boolean, compiled: boolean): unknown[] => {
      const w = tensor([1, 2], { requiresGrad: true });
      const call = stepOf(w, compiled, (loss) => {
        loss.backward(null, { retainGraph });
        loss.backward();
      });
      return [1, 2, 3].map((value) => {
        try {
          return call(tensor([value, 1]));
        } catch (error) {
          return [(error as { code: string }).code, w.grad!.toArray()];
        }
      });
    };
    expect(twice(true, true)).toEqual(twice(true, false));
    expect(twice(false, true)).toEqual(twice(false, false));
  });

  it('a custom function whose backward computes something else every time is not recorded', () => {
    const outcomes = [false, true].map((compiled) => {
      let calls = 0;
      class Alternating extends Function {
        static forward(_: FunctionContext, x: Tensor): Tensor {
          return x.mul(2);
        }
        static backward(_: FunctionContext, g: Tensor): Tensor {
          return calls++ % 2 === 0 ? g.mul(3) : g.mul(5);
        }
      }
      const fn = (x: Tensor): Tensor => Alternating.apply(x).sum();
      const call = compiled ? compile(fn, { backend }) : fn;
      return [1, 2, 3, 4].map(() => {
        const x = tensor([1, 2], { requiresGrad: true });
        call(x).backward();
        return x.grad!.toArray();
      });
    });
    expect(outcomes[1]).toEqual(outcomes[0]);
  });
});

describe('a hook on a leaf', () => {
  it('is a graph break with a code', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    w.registerHook((g) => g);
    const step = (x: Tensor): void => w.mul(x).sum().backward();
    expect(explain(step)(tensor([1, 2])).breakReasons.map(({ code }) => code)).toEqual(['GB0010']);
    expect(() => compile(step, { fullgraph: true })(tensor([1, 2]))).toThrow('GB0010');
  });
});

describe('backward hooks of modules', () => {
  it('have run when a backward() inside a compiled function returns', () => {
    const outcome = (compiled: boolean): unknown => {
      const layer = new nn.Linear(2, 1, { bias: false });
      layer.loadStateDict({ weight: tensor([[1, -2]]) });
      let factor = 1;
      const seen: number[] = [];
      layer.registerFullBackwardHook((_, [gradInput], [gradOutput]) => {
        seen.push(gradOutput!.sum().item() as number);
        return [gradInput!.mul(factor)];
      });
      const fn = (x: Tensor): [Tensor, number] => {
        factor = 2;
        layer.call(x).pow(2).sum().backward();
        factor = 100;
        return [x.grad!.mul(seen.at(-1)!), seen.length];
      };
      const call = compiled ? compile(fn) : fn;
      return [3, 4, 5, 6].map((value) => {
        const [result, count] = call(tensor([[value, 1]], { requiresGrad: true }));
        return [result.toArray(), count];
      });
    };
    expect(outcome(true)).toEqual(outcome(false));
  });

  it('have run when grad() inside a compiled function returns', () => {
    const layer = new nn.Linear(2, 1);
    let count = 0;
    layer.registerFullBackwardHook(() => void count++);
    const call = compile((x: Tensor) => {
      const [gradient] = grad(layer.call(x).sum(), [x]);
      return [gradient!.mul(count), count];
    });
    for (const i of [1, 2, 3, 4]) {
      const [gradient, seen] = call(tensor([[i, 1]], { requiresGrad: true })) as [Tensor, number];
      expect(seen).toBe(i);
      expect(gradient.toArray()).toEqual(layer.weight.mul(i).toArray());
    }
  });

  it('end the graph there', () => {
    const layer = new nn.Linear(2, 1);
    layer.registerFullBackwardHook(() => undefined);
    const step = (x: Tensor): Tensor => {
      layer.zeroGrad();
      const loss = layer.call(x).sum();
      loss.backward();
      return loss.mul(2);
    };
    expect(explain(step)(tensor([[1, 2]])).breakReasons.map(({ code }) => code)).toEqual([
      'GB0010',
    ]);
    expect(() => compile(step, { fullgraph: true })(tensor([[1, 2]]))).toThrow('GB0010');
  });
});
