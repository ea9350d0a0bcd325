/**
 * @file Loops that end by a value that they read: their passes are one graph, whatever their number.
 */
import { type Tensor, full, manualSeed, noGrad, randn, zeros } from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Linear, optim } from '@tessera/nn';
import { compile, compiledFunctionOf } from '../src/index.js';

afterEach(() => void vi.restoreAllMocks());

/** Entropic optimal transport between two sets of points; a tolerance decides how many passes it takes. */
function sinkhorn(cost: Tensor, tolerance: number): readonly [Tensor, number] {
  const [n, m] = cost.sizes as [number, number];
  const [mu, nu] = [full([n], 1 / n), full([m], 1 / m)];
  let [u, v] = [zeros([n]), zeros([m])];
  const scores = (): Tensor => cost.neg().add(u.unsqueeze(1)).add(v.unsqueeze(0)).div(0.3);
  let passes = 0;
  for (; passes < 60; passes++) {
    const before = u;
    u = mu.log().sub(scores().logsumexp(1)).mul(0.3).add(u);
    v = nu.log().sub(scores().logsumexp(0)).mul(0.3).add(v);
    if (u.sub(before).abs().sum().item() < tolerance) break;
  }
  return [scores().exp().mul(cost).sum(), passes];
}

function costs(count: number, rows = 5): Tensor[] {
  manualSeed(7);
  return Array.from({ length: count }, () =>
    randn([rows, 1, 2])
      .sub(randn([1, 6, 2]))
      .square()
      .sum(-1),
  );
}

describe('a loop that ends by a value', () => {
  it('has one code for all passes but the first', () => {
    const made = vi.spyOn(WebAssembly, 'Module');
    const transport = compile(sinkhorn);
    const [cost] = costs(1) as [Tensor];
    const [want, passes] = sinkhorn(cost, 1e-3);
    made.mockClear();
    for (let call = 0; call < 3; call++) {
      const [got, took] = transport(cost, 1e-3);
      expect(took).toBe(passes);
      expect(got.item()).toBeCloseTo(want.item(), 5);
    }
    expect(passes).toBeGreaterThan(5);
    expect(made.mock.calls.length).toBeLessThanOrEqual(5);
  });

  it('is recorded once for any number of passes', () => {
    const warn = vi.spyOn(console, 'warn');
    const transport = compile(sinkhorn);
    const taken = new Set<number>();
    for (const cost of costs(40)) {
      const [want, passes] = sinkhorn(cost, 1e-2);
      const [got, took] = transport(cost, 1e-2);
      expect(took).toBe(passes);
      expect(got.item()).toBeCloseTo(want.item(), 5);
      taken.add(passes);
    }
    expect(taken.size).toBeGreaterThan(8);
    expect(compiledFunctionOf(transport).captures.length).toBe(1);
    expect(warn).not.toHaveBeenCalled();
  });

  it('shares code between passes at sizes that vary, too', () => {
    const transport = compile(sinkhorn);
    const made = vi.spyOn(WebAssembly, 'Module');
    const counts = [5, 7, 4, 9, 8].map((rows) => {
      const [cost] = costs(1, rows) as [Tensor];
      const [want, passes] = sinkhorn(cost, 0.05);
      made.mockClear();
      const [got, took] = transport(cost, 0.05);
      expect(took).toBe(passes);
      expect(got.item()).toBeCloseTo(want.item(), 5);
      return made.mock.calls.length;
    });
    expect(Math.max(...counts)).toBeLessThanOrEqual(6);
  });

  it('has gradients of its own in each pass', () => {
    const make = (): ((x: Tensor) => Tensor[]) => {
      manualSeed(3);
      const layer = new Linear(4, 4);
      const optimizer = new optim.SGD(layer.parameters(), { lr: 0.1 });
      return (x) => {
        let z = zeros([x.size(0), 4]);
        noGrad(() => {
          for (let i = 0; i < 30; i++) {
            const next = layer.call(z).mul(0.5).add(x).tanh();
            const gap = next.sub(z).norm().item();
            z = next;
            if (gap < 1e-2) break;
          }
        });
        const loss = layer.call(z).sub(x).square().mean();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return [loss, layer.weight.detach().clone()];
      };
    };
    const [eager, compiled] = [make(), compile(make())];
    for (let i = 0; i < 8; i++) {
      const x = randn([3, 4]);
      const want = eager(x);
      compiled(x).forEach((got, k) =>
        expect(got.sub(want[k]!).abs().max().item()).toBeLessThan(1e-5),
      );
    }
  });

  it('keeps passes apart that only look alike', () => {
    // The same operators, of inputs that share memory in one pass and not in the other, one of which is written.
    const f = (a: Tensor, b: Tensor, x: Tensor): Tensor[] => {
      a.add_(x);
      const first = b.mul(2);
      if (first.sum().item() > 1e9) return [];
      x.add_(b);
      return [first, b.mul(2), a.clone()];
    };
    const compiled = compile(f);
    for (let i = 0; i < 4; i++) {
      const run = (g: typeof f): string => {
        manualSeed(i);
        const base = randn([6]);
        return g(base, base.view([6]), randn([6]))
          .map(String)
          .join();
      };
      expect(run(compiled)).toBe(run(f));
    }
  });
});
