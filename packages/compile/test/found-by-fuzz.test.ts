/**
 * @file Programs in which the fuzzer found that a compiled function differed from eager mode.
 */
import { counters, setLogSink, setLogs } from '@tessera/shared';
import { Dropout, LayerNorm, Linear, Sequential } from '@tessera/nn';
import {
  Function,
  type FunctionContext,
  type Tensor,
  arange,
  grad,
  manualSeed,
  noGrad,
  ones,
  randn,
  tensor,
} from '@tessera/tensor';
import { grad as slopeOf, vmap } from '@tessera/tensor/func';
import { describe, expect, it, vi } from 'vitest';
import { compile, disable, explain } from '../src/index.js';

describe.each(['aot_eager', 'inductor'])('found by pnpm fuzz: %s', (backend) => {
  it('an input that only an undifferentiated result depends on gets no gradient', () => {
    const fn = compile((x: Tensor, y: Tensor) => [x.mul(2), y.mul(3)], { backend });
    for (let i = 0; i < 3; i++) {
      const [x, y] = [tensor([1, 2]).requiresGrad_(), tensor([3]).requiresGrad_()];
      fn(x, y)[0]!.sum().backward();
      expect(x.grad!.toArray()).toEqual([2, 2]);
      expect(y.grad).toBeNull();
    }
  });

  it('a view made and written to without gradients, read behind a break', () => {
    const w = tensor(2.5).requiresGrad_();
    const fn = compile(
      (x: Tensor) => {
        const view = w.permute([]);
        view.add_(1);
        x.unsqueeze_(0);
        return view.neg();
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) expect(noGrad(() => fn(tensor(0))).item()).toBe(-3.5 - i);
    expect(w.requiresGrad && w.isLeaf).toBe(true);
  });

  it('gradients switched on again behind a break without gradients', () => {
    const w = tensor([[1, 2]]).requiresGrad_();
    const fn = compile(
      (x: Tensor) => {
        noGrad(() => x.sum().item());
        return [w.transpose(0, 1), w.mul(x)];
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const [view, product] = fn(tensor([3]));
      expect([view!.requiresGrad, product!.requiresGrad]).toEqual([true, true]);
      w.grad = null;
      view!.sum().add(product!.sum()).backward();
      expect(w.grad!.toArray()).toEqual([[4, 4]]);
    }
  });

  it('gradients switched on again in a graph that began without them', () => {
    const w = tensor([1, 2]).requiresGrad_();
    const fn = compile(
      (x: Tensor) => {
        const y = noGrad(() => (x.sum().item() > 0 ? x.mul(2) : x.neg()));
        return [w.view([2, 1]), w.mul(y)];
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const [view, product] = fn(tensor([3]));
      expect([view!.requiresGrad, product!.requiresGrad]).toEqual([true, true]);
      w.grad = null;
      view!.sum().add(product!.sum()).backward();
      expect(w.grad!.toArray()).toEqual([7, 7]);
    }
  });

  it('arguments that share memory and are updated differentiably run op by op', () => {
    const before = counters.get('aot_autograd', 'eager_fallback');
    const fn = compile((a: Tensor, b: Tensor) => b.copy_(a.mul(2)), { backend });
    for (let i = 0; i < 3; i++) {
      const leaf = tensor([1, 2, 3]).requiresGrad_();
      const a = leaf.mul(1);
      const b = a.flip(0);
      const overlapping = a.view([3]);
      fn(b, overlapping).sum().backward();
      expect(a.toArray()).toEqual([6, 4, 2]);
      expect(leaf.grad!.toArray()).toEqual([2, 2, 2]);
      expect(fn(a, a.slice(0, 0, 3)).toArray()).toEqual([12, 8, 4]);
    }
    expect(counters.get('aot_autograd', 'eager_fallback')).toBeGreaterThan(before);
  });

  it('says under `perf` that a graph runs op by op', () => {
    const said: string[] = [];
    const sink = setLogSink((artifact, text) => said.push(`${artifact}: ${text}`));
    setLogs({ perf: true });
    try {
      const a = tensor([1, 2, 3]).requiresGrad_().mul(1);
      const fn = compile((x: Tensor, y: Tensor) => x.copy_(y.mul(2)), { backend });
      fn(a.flip(0), a);
      fn(a, a.slice(0, 0, 3));
    } finally {
      setLogs({ perf: false });
      setLogSink(sink);
    }
    expect(said.filter((text) => /^perf: .*runs op by op/.test(text))).not.toHaveLength(0);
  });

  it('compiles per-sample gradients that nobody detached', () => {
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const step = (detach: boolean) => {
      const weight = tensor([[1, 2]]).requiresGrad_();
      return compile(
        function clipped(x: Tensor) {
          const given = detach ? weight.detach() : weight;
          const score = (w: Tensor, row: Tensor): Tensor => w.pow(3).mul(row).sum();
          const slopes = vmap(slopeOf(score), { inDims: [null, 0] })(given, x);
          const norms = slopes.flatten(1).pow(2).sum(1).sqrt();
          noGrad(() => weight.sub_(slopes.mean(0)));
          return norms;
        },
        { backend },
      );
    };
    try {
      const x = tensor([
        [1, 2],
        [3, 4],
      ]);
      const [plain, detached] = [step(false), step(true)];
      for (let i = 0; i < 3; i++) expect(plain(x).toArray()).toEqual(detached(x).toArray());
      expect(warnings).not.toHaveBeenCalled();
      for (const fn of [plain, detached]) expect(explain(fn)(x).uncompiled).toEqual([]);
    } finally {
      warnings.mockRestore();
    }
  });

  it('tells once that a graph is not compiled, and what to do', () => {
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {});
    try {
      const fn = compile(
        function shared(a: Tensor, b: Tensor) {
          return b.copy_(a.mul(2));
        },
        { backend },
      );
      const call = (run: typeof fn): unknown => {
        const b = tensor([1, 2, 3]).requiresGrad_().mul(1).flip(0);
        return run(b, b.view([3])).toArray();
      };
      for (let i = 0; i < 3; i++) expect(call(fn)).toEqual([6, 4, 2]);
      expect(warnings).toHaveBeenCalledTimes(1);
      expect(warnings.mock.lastCall![0]).toMatch(
        /a graph of shared runs operator by operator \(aot-unsupported\): .*\n→ .*detach\(\)/,
      );
      const b = tensor([1, 2, 3]).requiresGrad_().mul(1).flip(0);
      const told = explain(fn)(b, b.view([3]));
      expect(told.uncompiled.map(({ code }) => code)).toEqual(['aot-unsupported']);
      expect(told.toString()).toContain('A graph runs operator by operator: ');
    } finally {
      warnings.mockRestore();
    }
  });

  it('is refused under fullgraph with the reason, and the call has written nothing', () => {
    const fn = (a: Tensor, b: Tensor) => {
      counter.add_(1);
      return b.copy_(a.mul(2));
    };
    const counter = tensor(0);
    const refusing = compile(fn, { backend, fullgraph: true });
    for (let i = 0; i < 3; i++) {
      const a = tensor([1, 2, 3]).requiresGrad_().mul(1);
      const b = a.flip(0);
      expect(() => refusing(b, b.view([3]))).toThrow(
        expect.objectContaining({ code: 'aot-unsupported' }),
      );
      expect([counter.item(), b.toArray()]).toEqual([0, [3, 2, 1]]);
    }
    const elsewhere = tensor([1, 2, 3]);
    expect(refusing(elsewhere, tensor([0, 0, 0])).toArray()).toEqual([2, 4, 6]);
    expect(counter.item()).toBe(1);
  });

  it('a saved value that is modified is no error while nobody differentiates', () => {
    const fn = compile(
      (x: Tensor, n: Tensor) => {
        const y = x.minimum(n);
        n.add_(1);
        return y;
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const n = tensor([0, 5], { dtype: 'int64' });
      const y = fn(tensor([1, 2]).requiresGrad_(), n);
      expect([y.toArray(), n.toArray()]).toEqual([
        [0, 2],
        [1, 6],
      ]);
      expect(() => y.sum().backward()).toThrow(/modified by an inplace operation/);
    }
  });

  it('grad() behind a module that a call jumps over', () => {
    const net = new Sequential(new Linear(3, 3), new Dropout());
    const fn = compile(
      (x: Tensor) => {
        const y = net.call(x);
        return grad(x.sum(), [y], { materializeGrads: true })[0]!.add(0);
      },
      { backend },
    );
    for (let i = 0; i < 3; i++)
      expect(fn(ones([1, 3]).requiresGrad_()).toArray()).toEqual([[0, 0, 0]]);
  });

  it('an update of one row of a tensor whose rows are one place', () => {
    const f = (w: Tensor): Tensor => w.split(1, 0)[1]!.mul_(2);
    const [eager, compiled] = [tensor([[1, 2]]), tensor([[1, 2]])];
    const fn = compile(f, { backend });
    for (let i = 0; i < 3; i++) {
      expect(fn(compiled.expand([3, 2])).toArray()).toEqual(f(eager.expand([3, 2])).toArray());
      expect(compiled.toArray()).toEqual(eager.toArray());
    }
  });

  it('a hook on the result of a custom function, in every call', () => {
    class Wave extends Function {
      static forward(ctx: FunctionContext, t: Tensor): Tensor {
        ctx.saveForBackward(t);
        return t.sin();
      }
      static backward(ctx: FunctionContext, slope: Tensor): Tensor {
        return slope.mul(ctx.savedTensors[0]!.cos());
      }
    }
    const fn = compile(
      (x: Tensor) => {
        const y = Wave.apply(x) as Tensor;
        y.registerHook((slope) => slope.mul(2));
        return y;
      },
      { backend },
    );
    const leaf = tensor([0, 0]).requiresGrad_();
    for (let i = 1; i < 6; i++) {
      fn(i < 4 ? leaf : leaf.mul(1))
        .sum()
        .backward();
      expect(leaf.grad!.toArray()).toEqual([2 * i, 2 * i]);
    }
  });

  it('a number that shapes a result which nobody uses', () => {
    let kept = ones([1]);
    const fn = compile(
      (x: Tensor) => {
        arange(x.shape[0]!);
        kept = x.slice(0, 1, 4, 1);
        kept.cumsum(0);
      },
      { backend, dynamic: false },
    );
    for (const rows of [4, 5, 5, 4]) {
      fn(ones([rows, 2]).requiresGrad_().mul(3));
      expect(kept.toArray()).toEqual(ones([3, 2]).mul(3).toArray());
    }
  });

  it('the sign of a remainder that is zero', () => {
    const fn = compile((x: Tensor, y: Tensor) => x.remainder(y), { backend });
    for (const dtype of ['float32', 'bfloat16', 'float64'] as const)
      expect(
        fn(tensor([-3, 3, -3], { dtype }), tensor([1.5, 1.5, -1.5], { dtype })).toArray(),
      ).toEqual([-0, 0, -0]);
  });

  it('calls that wait while others replace what they read', async () => {
    const play = async (wrap: (fn: () => Promise<Tensor>) => () => Promise<Tensor>) => {
      const box = { w: tensor([1, 2]) };
      const fn = wrap(async () => {
        box.w = box.w.add(0.25);
        await undefined;
        return box.w.tanh();
      });
      const seen: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        const both = await Promise.all([fn(), fn()]);
        seen.push(...both.map((t) => t.toArray()), box.w.toArray());
      }
      return seen;
    };
    const want = await play((fn) => fn);
    const got = await play((fn) => compile(fn, { backend }));
    got.flat().forEach((value, i) => expect(value).toBeCloseTo(want.flat()[i] as number, 5));
  });

  it('calls that wait while another tells their leaf to take gradients', async () => {
    const w = tensor([1, 2]).requiresGrad_();
    const fn = compile(
      async () => {
        w.detach_();
        w.add_(2);
        await undefined;
        w.requiresGrad_(true);
      },
      { backend },
    );
    await Promise.all([fn(), fn()]);
    expect([w.toArray(), w.requiresGrad]).toEqual([[5, 6], true]);
  });

  it('views made without grad mode of what was modified before', () => {
    const kept: Tensor[] = [];
    const keep = compile(
      (x: Tensor) => {
        const y = x.mul_(0.5);
        noGrad(() => {
          kept.push(y.chunk(2, 0)[0]!);
          kept.at(-1)!.sub(1);
        });
      },
      { backend },
    );
    const look = compile((x: Tensor) => x.slice(0, 0, null, 1), { backend });
    const leaf = ones([4]).requiresGrad_();
    for (let i = 0; i < 3; i++) {
      const x = leaf.mul(1);
      keep(x.view([4]));
      const view = noGrad(() => look(x));
      const again = [kept[i]!, view, look(view), view.slice(0, 0, null, 1)];
      expect(again.map((t) => t.requiresGrad)).toEqual([false, false, false, false]);
      x.mul_(2);
      expect(again.slice(1).map((t) => t.requiresGrad)).toEqual([true, true, true]);
    }
  });

  it('views of a part that nobody returns, made before their memory was written to', () => {
    const kept: Tensor[] = [];
    const fn = (leaf: Tensor, alias: Tensor): void => {
      const part = leaf.unbind(0)[1]!;
      if ((alias.sum().item() as number) > 100) return;
      kept.push(part.squeeze());
      alias.add_(alias);
    };
    const compiled = compile(fn, { backend });
    for (const run of [fn, compiled, compiled]) {
      const leaf = tensor([1, 2, 3]).requiresGrad_();
      run(leaf, leaf.detach());
      expect(leaf.toArray()).toEqual([2, 4, 6]);
      expect(kept.at(-1)!.item()).toBe(4);
      expect(() => kept.at(-1)!.mul(2)).toThrow('Output 0 of Squeeze is a view and its base');
    }
  });

  it('a view of what was no view itself when this was captured', () => {
    const fn = (whole: Tensor, part: Tensor): Tensor => {
      const rows = part.narrow(0, 1, 2);
      part.squeeze_();
      rows.fill_(3);
      return part.minimum(whole);
    };
    const compiled = compile(fn, { backend });
    const first = ones([4, 3]).requiresGrad_().mul(1);
    compiled(first, first);
    for (const run of [fn, compiled, compiled]) {
      const leaf = arange(12).view([4, 3]).mul(0.1).detach().requiresGrad_();
      const whole = leaf.mul(1);
      run(whole, whole.slice(0, 0, null, 1))
        .sum()
        .backward();
      expect(leaf.grad!.sum(1).toArray()).toEqual([3, 0, 0, 3]);
    }
  });

  it('a part that nobody uses once its memory has another layout', () => {
    const fn = compile(
      (x: Tensor) => {
        const part = x.split(1, 0)[1]!;
        if ((part.sum().item() as number) > -100) part.erf();
        x.squeeze_();
      },
      { backend },
    );
    for (let i = 0; i < 3; i++) {
      const x = ones([3, 3]).requiresGrad_().mul(2);
      fn(x);
      expect(x.sum().item()).toBe(18);
    }
  });

  it('what was detached of a view that was made without gradients, written to behind a break', () => {
    const outside = disable((x: Tensor) => x.mul(2));
    const fn = (x: Tensor, fail: boolean, source: Tensor): void => {
      const part = x.detach();
      outside(x);
      if (fail) throw new RangeError('not yet');
      part.copy_(source);
    };
    const compiled = compile(fn, { backend });
    const x = noGrad(() => ones([12]).view([4, 3]));
    expect(() => compiled(x, true, x)).toThrow('not yet');
    for (let i = 2; i < 4; i++) {
      compiled(x, false, tensor(i).requiresGrad_());
      expect(x.sum().item()).toBe(12 * i);
    }
  });

  it('halves of a batch whose last one was as long at both sizes', () => {
    const train = (wrap: <F>(fn: F) => F): unknown[] => {
      manualSeed(66);
      const model = new Sequential(new LayerNorm([4]), new Linear(4, 3));
      const step = wrap((x: Tensor): void => {
        for (const part of x.chunk(2)) {
          const out = model.call(part);
          out.square().mean(-1).mean().backward();
        }
      });
      const seen: unknown[] = [];
      for (const n of [5, 4, 5, 4, 7]) {
        step(randn([n, 4]));
        seen.push(...model.parameters().map((p) => p.grad!.flatten().toArray()));
      }
      return seen;
    };
    const got = train((fn) => compile(fn as () => void, { backend }) as typeof fn) as number[][];
    const want = train((fn) => fn) as number[][];
    got.forEach((list, i) =>
      list.forEach((value, j) => expect(value).toBeCloseTo(want[i]![j]!, 4)),
    );
  });
});
