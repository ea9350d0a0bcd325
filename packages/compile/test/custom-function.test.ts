import {
  Function,
  type FunctionContext,
  type Tensor,
  enableGrad,
  grad,
  library,
  ones,
  tensor,
  tidy,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, compiledFunctionOf, explain } from '../src/index.js';

let factor = 10;

/** exp with ten times its gradient, so that it is seen which backward ran. */
class Exp extends Function {
  static forward(ctx: FunctionContext, x: Tensor): Tensor {
    const y = x.exp();
    ctx.saveForBackward(y);
    return y;
  }
  static backward(ctx: FunctionContext, g: Tensor): Tensor {
    return g.mul(ctx.savedTensors[0]!).mul(factor);
  }
}

/** Several results and constants, a property that is a tensor, and an argument handed through. */
class Mix extends Function {
  static forward(ctx: FunctionContext, x: Tensor, y: Tensor, scale: number): [Tensor, Tensor] {
    ctx.scale = scale;
    ctx.held = { x };
    const bits = x.gt(0);
    ctx.markNonDifferentiable(bits);
    return [y, bits];
  }
  static backward(ctx: FunctionContext, g: Tensor): (Tensor | null)[] {
    const { x } = ctx.held as { x: Tensor };
    return [g.mul(x).mul(ctx.scale as number), g.neg(), null];
  }
}

class AddOne_ extends Function {
  static forward(ctx: FunctionContext, x: Tensor): Tensor {
    ctx.markDirty(x);
    return x.add_(1);
  }
  static backward(_: FunctionContext, g: Tensor): Tensor {
    return g.mul(7);
  }
}

/** A backward that looks at values. */
class Reading extends Function {
  static forward(_: FunctionContext, x: Tensor): Tensor {
    return x.mul(2);
  }
  static backward(_: FunctionContext, g: Tensor): Tensor {
    return g.mul((g.max().item() as number) > 0 ? 3 : 5);
  }
}

describe.each(['eager', 'aot_eager', 'inductor'])('a custom Function with %s', (backend) => {
  const options = { backend, fullgraph: true };

  it('is one graph with its own backward, for results that go back to eager', () => {
    const f = compile((x: Tensor) => Exp.apply(x.mul(2)).add(1).sum(), options);
    for (const value of [0, 0.5, 1]) {
      const x = tensor([0, value], { requiresGrad: true });
      const y = f(x);
      expect(y.item()).toBeCloseTo(1 + Math.exp(2 * value) + 2, 4);
      y.backward();
      expect(x.grad!.select(0, 0).item()).toBeCloseTo(20, 4);
      expect(x.grad!.select(0, 1).item()).toBeCloseTo(20 * Math.exp(2 * value), 3);
    }
    expect(compiledFunctionOf(f).captures).toHaveLength(1);
  });

  it('is part of a graph with backward() inside', () => {
    const step = compile((x: Tensor) => {
      const loss = Exp.apply(x).sum();
      loss.backward();
      return loss;
    }, options);
    for (const value of [0, 1, 2]) {
      const x = tensor([value], { requiresGrad: true });
      step(x);
      expect(x.grad!.item()).toBeCloseTo(10 * Math.exp(value), 3);
    }
    expect(compiledFunctionOf(step).captures).toHaveLength(1);
  });

  it('is part of the graph in an open tidy scope, which notes what its backward makes', () => {
    class Twice extends Function {
      static forward(ctx: FunctionContext, x: Tensor): Tensor {
        ctx.saveForBackward(x);
        return x.square();
      }
      static backward(ctx: FunctionContext, g: Tensor): Tensor {
        return g.mul(ctx.savedTensors[0]!).mul(2);
      }
    }
    const f = compile(
      (x: Tensor) => {
        const y = Twice.apply(x.requiresGrad_());
        const [slope] = grad(y.sum(), [x], { createGraph: true });
        y.add(slope!.square()).sum().backward();
      },
      { backend, fullgraph: true },
    );
    for (const value of [1, 2, 3]) {
      const x = tensor([value]);
      tidy(() => f(x));
      expect(x.grad!.toArray()).toEqual([10 * value]);
    }
  });

  it('may hand arguments through, keep tensors as properties, and mark results', () => {
    const run = (fn: typeof body): unknown[] => {
      const x = tensor([1, -2], { requiresGrad: true });
      const y = tensor([3, 4], { requiresGrad: true });
      const [out, bits] = fn(x, y, 2);
      out
        .mul(tensor([1, 10]))
        .sum()
        .backward();
      return [out, bits, x.grad, y.grad].map((t) => t!.toArray());
    };
    const body = (x: Tensor, y: Tensor, scale: number): [Tensor, Tensor] => {
      const [out, bits] = Mix.apply(x, y, scale);
      return [out.add(1), bits];
    };
    const compiled = compile(body, options);
    expect(run(compiled)).toEqual(run(body));
    expect(run(compiled)).toEqual([
      [4, 5],
      [true, false],
      [2, -40],
      [-1, -10],
    ]);
  });

  it('may modify its argument', () => {
    const f = compile((x: Tensor) => {
      const y = x.mul(2);
      return [AddOne_.apply(y), y.requiresGrad] as const;
    }, options);
    for (let i = 0; i < 3; i++) {
      const x = tensor([i], { requiresGrad: true });
      const [out, requiresGrad] = f(x);
      out.backward(tensor([1]));
      expect([out.item(), x.grad!.item(), requiresGrad]).toEqual([2 * i + 1, 14, true]);
    }
  });

  it('is captured anew when its backward computes something else', () => {
    const f = compile((x: Tensor) => Exp.apply(x).sum(), options);
    const gradient = (): number => {
      const x = tensor([0], { requiresGrad: true });
      f(x).backward();
      return x.grad!.item() as number;
    };
    try {
      expect([gradient(), gradient()]).toEqual([10, 10]);
      factor = 20;
      expect([gradient(), gradient()]).toEqual([20, 20]);
    } finally {
      factor = 10;
    }
    expect(compiledFunctionOf(f).captures).toHaveLength(2);
    expect(gradient()).toBe(10);
    expect(compiledFunctionOf(f).captures).toHaveLength(2);
  });

  it('is a graph break where its backward reads values', () => {
    const f = compile((x: Tensor) => Reading.apply(x.add(1)).sum(), { backend });
    for (let i = 0; i < 3; i++) {
      const x = tensor([1, 2], { requiresGrad: true });
      f(x).backward(tensor(i === 1 ? -1 : 1));
      expect(x.grad!.toArray()).toEqual(i === 1 ? [-5, -5] : [3, 3]);
    }
    const x = tensor([1, 2], { requiresGrad: true });
    expect(explain(f)(x).breakReasons.map(({ code }) => code)).toEqual(['GB0007']);
  });

  // The adjoint of an ODE's solution: a leaf made inside, and a backward that differentiates a leaf of its own.
  it('gives its gradients to a leaf that the function made', () => {
    class Adjoint extends Function {
      static forward(ctx: FunctionContext, x: Tensor, w: Tensor): Tensor {
        ctx.saveForBackward(x, w);
        return x.mul(w).exp();
      }
      static backward(ctx: FunctionContext, slope: Tensor): Tensor[] {
        const [x, w] = ctx.savedTensors;
        return enableGrad(() => {
          const own = x!.detach().requiresGrad_();
          return grad(own.mul(w!).exp(), [own, w!], { gradOutputs: slope });
        });
      }
    }
    const w = tensor([0.5, -1], { requiresGrad: true });
    const f = (x: Tensor): Tensor[] => {
      w.grad = null;
      const leaf = x.clone().requiresGrad_();
      const out = Adjoint.apply(leaf, w);
      out.sum().backward();
      return [out.detach(), leaf.grad!, w.grad!.clone()];
    };
    const compiled = compile(f, { backend });
    for (const value of [1, 2, 3, 4]) {
      const x = tensor([value, -value]);
      const want = f(x).map((t) => t.toArray());
      expect(compiled(x).map((t) => t.toArray())).toEqual(want);
    }
  });
});

/** What a backward may keep: where it puts a gradient, what is kept there, and whether that is the program's. */
const KEEPING: Record<
  string,
  () => { readonly put: (g: Tensor) => void; readonly kept: () => readonly Tensor[] }
> = {
  'an array': () => {
    const list: Tensor[] = [];
    return { put: (g) => list.push(g.mul(2)), kept: () => list };
  },
  'a Map that had another value': () => {
    const map = new Map([['g', tensor([0, 0])]]);
    return { put: (g) => map.set('g', g.mul(2)), kept: () => [...map.values()] };
  },
  'a Set': () => {
    const set = new Set<Tensor>();
    return { put: (g) => set.add(g.mul(2)), kept: () => [...set] };
  },
};

describe.each(['eager', 'aot_eager', 'inductor'])(
  'a backward that keeps tensors, %s',
  (backend) => {
    const run = (fn: (x: Tensor) => Tensor, kept: () => readonly Tensor[]): unknown[] =>
      [1, 2, 3].map((slope) => {
        const x = tensor([1, 2], { requiresGrad: true });
        const out = fn(x);
        const before = kept().length;
        out.backward(tensor(slope));
        out.dispose();
        return [before, kept().map((t) => t.toArray()), x.grad!.toArray()];
      });

    it.each(Object.keys(KEEPING))('in %s of the program keeps what eager keeps', (name) => {
      const make = (): [(x: Tensor) => Tensor, () => readonly Tensor[]] => {
        const { put, kept } = KEEPING[name]!();
        class Keeps extends Function {
          static forward(_: FunctionContext, x: Tensor): Tensor {
            return x.mul(2);
          }
          static backward(_: FunctionContext, g: Tensor): Tensor {
            put(g);
            return g.mul(3);
          }
        }
        return [(x) => Keeps.apply(x.add(1)).sum(), kept];
      };
      const [eager, keptByEager] = make();
      const [fn, kept] = make();
      const compiled = compile(fn, { backend });
      expect(run(compiled, kept)).toEqual(run(eager, keptByEager));
      expect(compiledFunctionOf(compiled).captures[0]!.breaks.map(({ code }) => code)).toEqual([
        'GB0007',
      ]);
    });

    it('on its class, or in an array that its context was given, keeps what eager keeps', () => {
      const make = (): [(x: Tensor) => Tensor, () => readonly Tensor[]] => {
        const list: Tensor[] = [];
        class Keeps extends Function {
          static count = 0;
          static forward(ctx: FunctionContext, x: Tensor, log: Tensor[]): Tensor {
            ctx.log = log;
            return x.mul(2);
          }
          static backward(ctx: FunctionContext, g: Tensor): (Tensor | null)[] {
            (ctx.log as Tensor[]).push(g.mul(2));
            return [g.mul(3), null];
          }
        }
        class Counts extends Function {
          static count = 0;
          static forward(_: FunctionContext, x: Tensor): Tensor {
            return x.mul(2);
          }
          static backward(_: FunctionContext, g: Tensor): Tensor {
            list.push(tensor(++Counts.count));
            return g;
          }
        }
        return [(x) => Counts.apply(Keeps.apply(x.add(1), list)).sum(), () => list];
      };
      const [eager, keptByEager] = make();
      const [fn, kept] = make();
      expect(run(compile(fn, { backend }), kept)).toEqual(run(eager, keptByEager));
    });

    it('in a list of its own is part of the graph', () => {
      class Own extends Function {
        static forward(_: FunctionContext, x: Tensor): Tensor {
          return x.mul(2);
        }
        static backward(_: FunctionContext, g: Tensor): Tensor {
          const parts: Tensor[] = [];
          parts.push(g.mul(2), g);
          return new Set(new Map([['sum', parts[0]!.add(parts[1]!)]]).values()).values().next()
            .value as Tensor;
        }
      }
      const f = compile((x: Tensor) => Own.apply(x).sum(), { backend, fullgraph: true });
      for (let i = 0; i < 2; i++) {
        const x = tensor([1, 2], { requiresGrad: true });
        f(x).backward();
        expect(x.grad!.toArray()).toEqual([3, 3]);
      }
    });
  },
);

describe('a custom function in calls that no trace fits any more', () => {
  it.each([false, true])(
    'gives results that can be given another layout, async: %s',
    async (waits) => {
      class Twice extends Function {
        static forward(_: FunctionContext, x: Tensor): Tensor {
          return x.mul(2);
        }
        static backward(_: FunctionContext, g: Tensor): Tensor {
          return g.mul(2);
        }
      }
      const w = tensor([[1, 2]], { requiresGrad: true });
      const last = (x: Tensor): Tensor => Twice.apply(w.mul(1)).squeeze_().add(x.sum());
      const fn = async (x: Tensor): Promise<Tensor> => {
        if (waits) void (await x.sum().item());
        return last(x);
      };
      const f = compile(fn, { backend: 'eager', dynamic: false });
      for (let n = 1; n < 13; n++) expect((await f(ones([n]))).toArray()).toEqual([2 + n, 4 + n]);
    },
  );
});

describe('autograd inside compiled functions', () => {
  it('captures grad()', () => {
    const f = compile((x: Tensor) => grad(x.mul(x).sum(), x)[0]!, { backend: 'eager' });
    for (const value of [2, 3, 4]) {
      expect(f(tensor([1, value], { requiresGrad: true })).toArray()).toEqual([2, 2 * value]);
    }
  });
});

describe.each(['eager', 'aot_eager', 'inductor'])('a custom operator with %s', (backend) => {
  it('stays a single node, with its own gradient', () => {
    const lib = library(`opaque_${backend}`)
      .define('cube(Tensor x) -> Tensor')
      .impl('cube', 'cpu', (x: Tensor) => x.mul(x).mul(x))
      .impl('cube', 'meta', (x: Tensor) => x.emptyLike())
      .autograd('cube', { vjp: ({ x }, { grad: g }) => ({ x: g.mul(x).mul(100) }), saved: ['x'] });
    const cube = lib.fn<(x: Tensor) => Tensor>('cube');
    const f = compile((x: Tensor) => cube(x.add(1)).mul(2), { backend, fullgraph: true });
    for (const value of [1, 2, 3]) {
      const x = tensor([value], { requiresGrad: true });
      const y = f(x);
      y.backward(tensor([1]));
      expect([y.item(), x.grad!.item()]).toEqual([2 * (value + 1) ** 3, 200 * (value + 1)]);
    }
    const { graphs, graphCount } = explain(f)(tensor([1], { requiresGrad: true }));
    expect([graphCount, graphs[0]!.opCount]).toEqual([1, 3]);
    expect(graphs[0]!.code).toContain(`opaque_${backend}.cube`);
  });
});
