/**
 * @file What programs ported from PyTorch showed: a replay buffer that is written in a ring, custom functions whose
 * saved tensors need no cast, a backward beside history that it does not reach, models frozen for a while, an ODE's
 * adjoint, an equilibrium that is differentiated implicitly, a codebook of moving averages.
 */
import {
  Function,
  type FunctionContext,
  type Tensor,
  arange,
  enableGrad,
  grad,
  manualSeed,
  noGrad,
  ones,
  randn,
  zeros,
  zerosLike,
} from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Linear, Module, Parameter, functional as F, optim } from '@tessera/nn';
import { compile, compiledFunctionOf, explain, graphBreak } from '../src/index.js';

afterEach(() => void vi.restoreAllMocks());

/** How many WebAssembly modules were made, by call. */
function modulesMade(calls: readonly (() => void)[]): number[] {
  const made = vi.spyOn(WebAssembly, 'Module');
  return calls.map((call) => {
    made.mockClear();
    call();
    return made.mock.calls.length;
  });
}

describe('a range that begins where the last one ended', () => {
  const programs: Record<string, () => (x: Tensor) => Tensor> = {
    'places in a ring': () => {
      const ring = zeros([30, 4]);
      let at = 0;
      return (x) => {
        const places = arange(at, at + x.size(0)).remainder(30);
        at += x.size(0);
        return ring.indexPut_([places], x).mul(2);
      };
    },
    'every other number': () => {
      let at = 0;
      return (x) => arange(at, (at += 8), 2).mul(x.sum());
    },
    'numbers downwards': () => {
      let at = 20;
      return (x) => arange(at, at++ - 4, -1).mul(x.sum());
    },
  };

  it.each(Object.keys(programs))('%s: one code for all beginnings', (name) => {
    const eager = programs[name]!();
    const compiled = compile(programs[name]!());
    const inputs = Array.from({ length: 8 }, () => randn([4, 4]));
    const got: Tensor[] = [];
    const made = modulesMade(inputs.map((x) => () => void got.push(compiled(x))));
    expect(got.map(String)).toEqual(inputs.map((x) => String(eager(x))));
    expect(made.slice(3)).toEqual([0, 0, 0, 0, 0]);
  });
});

it('a range that ends with a size is traced once for all sizes', () => {
  // Positions of a cache and of what comes behind it: another batch first, so that what the end follows is learnt twice.
  const f = (x: Tensor): Tensor => {
    const behind = x.index(':', '4:-1');
    const place = arange(4, behind.size(1) + 4).float();
    return arange(0, 4).float().mul(x.index(':', ':4')).sum().add(place.mul(behind).sum());
  };
  const compiled = compile(f);
  for (const [rows, columns] of [
    [3, 9],
    [4, 9],
    [5, 10],
    [3, 11],
    [4, 12],
    [5, 8],
    [2, 14],
    [6, 17],
  ] as const) {
    const x = randn([rows, columns]);
    expect(compiled(x).item()).toBeCloseTo(f(x).item(), 3);
  }
  expect(compiledFunctionOf(compiled)!.captures.length).toBeLessThanOrEqual(4);
});

describe('saved tensors of a custom function', () => {
  class Scaled extends Function {
    static forward(ctx: FunctionContext & { power: number }, x: Tensor, power: number): Tensor {
      ctx.power = power;
      ctx.saveForBackward(x);
      return x.pow(power);
    }
    static backward(ctx: FunctionContext & { power: number }, slope: Tensor): (Tensor | null)[] {
      const [x] = ctx.savedTensors;
      return [slope.mul(x!.pow(ctx.power - 1).mul(ctx.power)), null];
    }
  }
  class Affine extends Function {
    static forward(
      ctx: FunctionContext<[Tensor, Tensor | null]>,
      x: Tensor,
      bias: Tensor | null,
    ): Tensor {
      ctx.saveForBackward(x, bias);
      return bias === null ? x.mul(x) : x.mul(x).add(bias);
    }
    static backward(
      ctx: FunctionContext<[Tensor, Tensor | null]>,
      slope: Tensor,
    ): (Tensor | null)[] {
      const [x, bias] = ctx.savedTensors;
      return [slope.mul(x).mul(2), bias === null ? null : slope];
    }
  }

  it('are tensors, and null only where the context says so', () => {
    const x = randn([4], { requiresGrad: true });
    const f = (a: Tensor): Tensor => Affine.apply(Scaled.apply(a, 3), null).sum();
    f(x).backward();
    const want = x.grad!;
    x.grad = null;
    compile(f)(x).backward();
    expect(String(x.grad)).toBe(String(want));
    expect(String(want)).toBe(String(x.detach().pow(5).mul(6)));
  });
});

describe('a backward behind a graph break', () => {
  type Step = (x: Tensor) => Tensor[];
  const programs: Record<string, { readonly make: () => Step; readonly codes: readonly string[] }> =
    {
      // The temperature of soft actor-critic.
      'is recorded where history is only detached from': {
        codes: ['GB0003'],
        make: () => {
          const policy = new Linear(2, 2);
          const heat = new Parameter(zeros([]));
          const [own, other] = [policy.parameters(), [heat]].map(
            (params) => new optim.SGD(params, { lr: 0.1 }),
          );
          return (x) => {
            const made = policy.call(x);
            const loss = made.mul(heat.exp().detach()).square().mean();
            own!.zeroGrad();
            loss.backward();
            own!.step();
            graphBreak();
            const warmth = heat.mul(made.detach().sub(2)).mean().neg();
            other!.zeroGrad();
            warmth.backward();
            other!.step();
            return [loss, warmth, heat.detach().clone(), policy.weight.detach().clone()];
          };
        },
      },
      'is run by the engine where it leads to history before it': {
        codes: ['GB0003', 'GB0005'],
        make: () => {
          const [first, second] = [new Linear(2, 3), new Linear(3, 1)];
          return (x) => {
            first.zeroGrad();
            second.zeroGrad();
            const made = first.call(x).tanh();
            graphBreak();
            second.call(made).sum().backward();
            return [first.weight.grad!.clone(), second.weight.grad!.clone()];
          };
        },
      },
      // As the actor's step freezes the critic.
      'breaks the graph once for all flags that are set between': {
        codes: ['GB0011', 'GB0011'],
        make: () => {
          const [actor, critic] = [new Linear(2, 3), new Linear(3, 1)];
          const optimizers = [actor, critic].map((m) => new optim.SGD(m.parameters(), { lr: 0.1 }));
          return (x) => {
            const error = critic.call(actor.call(x).detach()).square().mean();
            optimizers[1]!.zeroGrad();
            error.backward();
            optimizers[1]!.step();
            critic.requiresGrad_(false);
            const loss = critic.call(actor.call(x)).mean();
            optimizers[0]!.zeroGrad();
            loss.backward();
            optimizers[0]!.step();
            critic.requiresGrad_(true);
            return [error, loss, actor.weight.detach().clone(), critic.weight.detach().clone()];
          };
        },
      },
      'does not end a graph in which nothing was read': {
        codes: [],
        make: () => (x) => {
          x.requiresGrad_();
          const slope = grad(x.exp().sum(), [x])[0]!;
          return [slope];
        },
      },
    };

  it.each(Object.keys(programs))('%s', (name) => {
    const { make, codes } = programs[name]!;
    const started = (): Step => {
      manualSeed(3);
      return make();
    };
    const eager = started();
    const compiled = compile(started());
    for (const rows of [4, 4, 6, 5, 4]) {
      const x = randn([rows, 2]);
      const want = eager(x.clone());
      compiled(x.clone()).forEach((got, i) =>
        expect(got.sub(want[i]!).abs().max().item()).toBeLessThan(1e-6),
      );
    }
    const { breakReasons } = explain(make())(randn([4, 2]));
    expect(breakReasons.map(({ code }) => code)).toEqual(codes);
  });

  it('is no part of a pure function that sets flags, also before anything else', () => {
    const f = (x: Tensor): Tensor => x.requiresGrad_().mul(2);
    for (const fullgraph of [false, true])
      expect(() => compile(f, { pure: true, fullgraph })(randn([2]))).toThrow('requiresGrad_()');
  });
});

describe('whole training steps', () => {
  type Step = (x: Tensor) => Tensor[];
  type Field = (y: Tensor) => Tensor;

  const along = (f: Field, start: Tensor, span: number): Tensor => {
    let y = start;
    for (let i = 0; i < 4; i++) {
      const middle = y.add(f(y).mul(span / 8));
      y = y.add(f(middle).mul(span / 4));
    }
    return y;
  };
  /** The gradients of an ODE's end are found backwards in time: torchdiffeq's `odeint_adjoint`. */
  class Adjoint extends Function {
    static forward(ctx: FunctionContext & { field: Linear }, field: Linear, y: Tensor): Tensor {
      const end = noGrad(() => along((z) => field.call(z).tanh(), y, 1));
      ctx.field = field;
      ctx.saveForBackward(end);
      return end;
    }
    static backward(ctx: FunctionContext & { field: Linear }, slope: Tensor): (Tensor | null)[] {
      const [end] = ctx.savedTensors;
      const state = along(
        (z) => {
          const [y, a] = z.unbind(0) as [Tensor, Tensor];
          const own = y.detach().requiresGrad_();
          return enableGrad(() => {
            const f = ctx.field.call(own).tanh();
            const [g] = grad(f, [own], { gradOutputs: a.neg() });
            return zerosLike(z).add(g!).selectScatter(f.detach(), 0, 0);
          });
        },
        zerosLike(end!)
          .unsqueeze(0)
          .expand([2, ...end!.sizes])
          .selectScatter(end!, 0, 0)
          .selectScatter(slope, 0, 1),
        -1,
      );
      return [null, state.select(0, 1)];
    }
  }

  /** vector-quantize-pytorch: codes are moving averages of what chose them, and the gradient goes straight through. */
  class Codebook extends Module {
    readonly codes = this.registerBuffer('codes', randn([5, 3]));
    readonly counts = this.registerBuffer('counts', ones([5]));
    readonly sums = this.registerBuffer('sums', this.codes.clone());

    override forward(x: Tensor): Tensor {
      const chosen = x.unsqueeze(1).sub(this.codes).square().sum(-1).argmin(-1);
      const code = F.embedding(chosen, this.codes);
      noGrad(() => {
        const each = F.oneHot(chosen, 5).to(x.dtype);
        this.counts.mul_(0.8).add_(each.sum(0), { alpha: 0.2 });
        this.sums.mul_(0.8).add_(each.t().matmul(x), { alpha: 0.2 });
        this.codes.copy_(this.sums.div(this.counts.unsqueeze(1)));
      });
      return x.add(code.sub(x).detach());
    }
  }

  const programs: Record<string, () => Step> = {
    'an adjoint': () => {
      const field = new Linear(3, 3);
      const first = new Linear(3, 3);
      const optimizer = new optim.RMSprop(first.parameters(), { lr: 0.01 });
      return (x) => {
        const leaf = x.clone().requiresGrad_();
        const loss = Adjoint.apply(field, first.call(leaf)).square().mean();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return [loss.detach(), leaf.grad!, first.weight.detach().clone()];
      };
    },
    // Deep equilibrium models: the gradient is a fixed point, too, which a hook looks for.
    'an equilibrium': () => {
      const [layer, out] = [new Linear(3, 3), new Linear(3, 1)];
      const optimizer = new optim.Adam([...layer.parameters(), ...out.parameters()], { lr: 0.01 });
      const solve = (f: Field, start: Tensor): Tensor => {
        let z = start;
        for (let i = 0; i < 12; i++) {
          const next = f(z);
          const isNear = Number(next.sub(z).abs().max().item()) < 1e-3;
          z = next;
          if (isNear) break;
        }
        return z;
      };
      return (x) => {
        const f: Field = (z) => layer.call(z).mul(0.4).add(x).tanh();
        const z = f(noGrad(() => solve(f, zerosLike(x))));
        const at = z.detach().requiresGrad_();
        const again = f(at);
        z.registerHook((g) =>
          solve((y) => grad(again, at, { gradOutputs: y, retainGraph: true })[0]!.add(g), g),
        );
        const loss = out.call(z).square().mean();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return [loss.detach(), layer.weight.detach().clone()];
      };
    },
    'a codebook': () => {
      const [into, out, book] = [new Linear(3, 3), new Linear(3, 3), new Codebook()];
      const optimizer = new optim.Adam([...into.parameters(), ...out.parameters()], { lr: 0.01 });
      return (x) => {
        const loss = F.mseLoss(out.call(book.call(into.call(x))), x);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return [loss.detach(), book.codes.clone(), into.weight.detach().clone()];
      };
    },
  };

  it.each(Object.keys(programs))('%s: compiled as eager', (name) => {
    const started = (): Step => {
      manualSeed(7);
      return programs[name]!();
    };
    const [eager, compiled] = [started(), compile(started())];
    for (const rows of [4, 4, 6, 5, 4]) {
      const x = randn([rows, 3]);
      const want = eager(x.clone());
      compiled(x.clone()).forEach((got, i) =>
        expect(got.sub(want[i]!).abs().max().item()).toBeLessThan(1e-5),
      );
    }
  });
});
