/**
 * @file Values of a compiled function whose gradients somebody watches: with hooks, `retainGrad()` or `grad()`.
 */
import { type Tensor, cat, grad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, graphBreak } from '../src/index.js';

const BACKENDS = ['eager', 'aot_eager', 'inductor'] as const;
const CALLS = 3;

/** What three calls of `step` give, each with a fresh leaf. */
function seen(step: (leaf: Tensor) => unknown): unknown[] {
  return Array.from({ length: CALLS }, () => step(tensor([1, -2, 3, -4]).requiresGrad_()));
}

describe.each(BACKENDS)('%s', (backend) => {
  /** The same program eagerly and compiled; `use` says what is seen of a call. */
  function expectEager<R>(fn: (x: Tensor) => R, use: (result: R, leaf: Tensor) => unknown): void {
    const want = seen((leaf) => use(fn(leaf), leaf));
    const compiled = compile(fn, { backend });
    expect(seen((leaf) => use(compiled(leaf), leaf))).toEqual(want);
  }
  const gradOf = (loss: Tensor, leaf: Tensor): unknown => {
    loss.sum().backward();
    return leaf.grad!.toArray();
  };

  it('calls a hook with the whole gradient of a value that was used before', () => {
    expectEager((x) => {
      const a = x.relu();
      const b = a.abs();
      a.registerHook((slope) => slope.mul(0.5));
      return cat([b, x], 0);
    }, gradOf);
  });

  it('calls several hooks on values in a chain, and none that was removed', () => {
    expectEager((x) => {
      const a = x.relu();
      const b = a.mul(3);
      const c = b.add(a);
      a.registerHook((slope) => slope.mul(0.5));
      const removed = b.registerHook((slope) => slope.mul(100));
      b.registerHook((slope) => slope.add(1));
      removed.remove();
      return c.mul(c);
    }, gradOf);
  });

  it('retains the whole gradient of a value that is returned too', () => {
    expectEager(
      (x) => {
        const a = x.neg();
        const [sorted] = a.sort(0);
        a.retainGrad();
        return [sorted!, a.mul(2), a];
      },
      ([sorted, doubled, a], leaf) => {
        sorted!.sum().add(doubled!.mul(2).sum()).add(a!.sum()).backward();
        return [a!.grad!.toArray(), leaf.grad!.toArray()];
      },
    );
  });

  it('calls a hook on a view that was used before', () => {
    expectEager((x) => {
      const a = x.mul(2).view([2, 2]).transpose(0, 1);
      const b = a.sin();
      a.registerHook((slope) => slope.mul(0.5));
      return b.sum().add(a.sum());
    }, gradOf);
  });

  it('calls a hook on a value that was changed in place and used before', () => {
    expectEager((x) => {
      const a = x.mul(2);
      const before = a.mul(3);
      a.mul_(5);
      const after = a.mul(7);
      a.registerHook((slope) => slope.mul(0.5));
      return before.add(after);
    }, gradOf);
  });

  it('calls a hook that is set behind a graph break', () => {
    expectEager((x) => {
      const a = x.relu();
      const b = a.abs();
      graphBreak();
      const c = b.mul(2);
      a.registerHook((slope) => slope.mul(0.5));
      return c;
    }, gradOf);
  });

  it('differentiates by a value of an earlier graph', () => {
    expectEager(
      (x) => {
        const a = x.max(0, { keepdim: true })[0]!;
        const b = a.minimum(a).mul(3);
        graphBreak();
        return grad(b.sum(), [a])[0]!;
      },
      (slope) => slope.toArray(),
    );
  });

  it('differentiates a value of an earlier graph by another one', () => {
    expectEager(
      (x) => {
        const a = x.view([2, 2]);
        const b = a.sin().sum();
        graphBreak();
        return grad(b, [a])[0]!;
      },
      (slope) => slope.toArray(),
    );
  });

  it('differentiates by an argument that was changed in place', () => {
    const step = compile(
      (x: Tensor, y: Tensor): Tensor => {
        const changed = x.fill_(0.5);
        y.add_(x);
        return grad(x.sum().mul(2), [changed])[0]!;
      },
      { backend },
    );
    expect(seen((leaf) => step(leaf.mul(1), leaf.mul(2)).toArray())).toEqual(
      Array.from({ length: CALLS }, () => [2, 2, 2, 2]),
    );
  });

  it('gives backward({ inputs }) the gradient of a value of an earlier graph', () => {
    expectEager(
      (x) => {
        const a = x.exp();
        const b = a.mul(a).sum();
        graphBreak();
        b.backward(null, { inputs: [a] });
        return a.grad!;
      },
      (slope) => slope.toArray(),
    );
  });

  it('sees a hook that a later call sets for the first time', () => {
    const run = (wrap: (fn: (x: Tensor, watch: boolean) => Tensor) => typeof fn): unknown => {
      const step = wrap((x, watch) => {
        const a = x.relu();
        const b = a.mul(3);
        if (watch) a.registerHook((slope) => slope.mul(0.5));
        return b;
      });
      return [false, false, true, true, false].map((watch) => {
        const leaf = ones([3]).requiresGrad_();
        step(leaf, watch).sum().backward();
        return leaf.grad!.toArray();
      });
    };
    expect(run((fn) => compile(fn, { backend }))).toEqual(run((fn) => fn));
  });

  it('keeps the gradient of what an in-place operation makes of a value', () => {
    expectEager(
      (x) => {
        const a = x.mul(2);
        a.retainGrad();
        a.mul_(3);
        return [a, a.mul(5)];
      },
      ([a, b], leaf) => {
        b!.sum().backward();
        return [a!.grad!.toArray(), leaf.grad!.toArray()];
      },
    );
  });

  it('leads the gradient of a modified view around the hooks that it had', () => {
    expectEager((x) => {
      const a = x.mul(1).view([2, 2]).transpose(0, 1);
      a.registerHook((slope) => slope.mul(0.5));
      a.relu_();
      return a;
    }, gradOf);
  });

  it('leads the gradients of what read a view before it was modified through its hooks', () => {
    expectEager((x) => {
      const a = x.mul(1).view([2, 2]).transpose(0, 1);
      a.registerHook((slope) => slope.mul(0.5));
      const before = a.mul(7);
      a.relu_();
      return a.add(before);
    }, gradOf);
  });

  it('gives the gradient of a value that backward({ inputs }) asks for in the same graph', () => {
    expectEager(
      (x) => {
        const a = x.t();
        a.abs()
          .sum()
          .backward(null, { inputs: [a] });
        return a;
      },
      (a, leaf) => [a.grad!.toArray(), leaf.grad],
    );
  });

  it('applies hooks to what grad() gives', () => {
    expectEager(
      (x) => {
        const a = x.mul(2);
        a.registerHook((slope) => slope.mul(0.5));
        return grad(a.sin().sum(), [a])[0]!;
      },
      (slope) => slope.toArray(),
    );
  });

  it('retains gradients that grad() asks for', () => {
    expectEager(
      (x) => {
        const a = x.mul(2);
        a.retainGrad();
        const slope = grad(a.sin().sum(), [a])[0]!;
        return [a, slope];
      },
      ([a, slope]) => [a!.grad!.toArray(), slope!.toArray()],
    );
  });

  it('differentiates within a graph that is cut', () => {
    expectEager(
      (x) => {
        const a = cat([x, x], 0);
        const b = a.mul(a);
        const slope = grad(b.sum(), [a], { retainGraph: true })[0]!;
        b.retainGrad();
        return [b, slope];
      },
      ([b, slope]) => {
        b!.sum().backward();
        return [b!.grad!.toArray(), slope!.toArray()];
      },
    );
  });

  describe('a later call that is the first to watch a value of a graph that has run', () => {
    /** The call that watches first is an error that says to call again; all others are as in eager. */
    function expectEagerLater(fn: (x: Tensor, watch: boolean) => Tensor): void {
      const once = (step: typeof fn, watch: boolean): unknown => {
        const leaf = tensor([1, 2, 3]).requiresGrad_();
        const result = step(leaf.mul(1), watch);
        if (result.requiresGrad) result.sum().backward();
        return [result.toArray(), leaf.grad?.toArray() ?? null];
      };
      const compiled = compile(fn, { backend });
      [false, false, true, true, true, false].forEach((watch, i) => {
        if (i === 2) expect(() => once(compiled, watch)).toThrow('trace-late-watch');
        else expect(once(compiled, watch)).toEqual(once(fn, watch));
      });
    }

    it('calls its hook', () => {
      expectEagerLater((x, watch) => {
        const a = x.sin();
        const b = a.mul(x);
        graphBreak();
        if (watch) a.registerHook((slope) => slope.mul(0.5));
        return b.mul(2);
      });
    });

    it('calls hooks that were there before', () => {
      expectEagerLater((x, watch) => {
        const a = x.sin();
        const b = a.mul(x);
        b.registerHook((slope) => slope.add(1));
        const c = b.mul(b);
        graphBreak();
        if (watch) a.registerHook((slope) => slope.mul(0.5));
        return c;
      });
    });

    it('differentiates by it', () => {
      expectEagerLater((x, watch) => {
        const a = x.sin();
        const b = a.mul(x).sum();
        graphBreak();
        return watch ? grad(b, [a])[0]! : b;
      });
    });

    it('calls a hook on an argument that the graph has changed', () => {
      expectEagerLater((x, watch) => {
        x.mul_(2);
        const b = x.sin();
        graphBreak();
        if (watch) x.registerHook((slope) => slope.mul(0.5));
        return b.mul(3);
      });
    });

    it('keeps the gradient of a changed argument for a value that was left out', () => {
      const fn = (x: Tensor, other: boolean): Tensor => {
        x.retainGrad();
        x.mul_(2);
        const b = x.sin();
        const c = b.add(1);
        graphBreak();
        return other ? b.mul(3) : c.mul(3);
      };
      const compiled = compile(fn, { backend });
      const run = (step: typeof fn): unknown =>
        [false, false, true, true].map((other) => {
          const leaf = tensor([1, 2, 3]).requiresGrad_();
          const x = leaf.mul(1);
          step(x, other).sum().backward();
          return [x.grad!.toArray(), leaf.grad!.toArray()];
        });
      expect(run(compiled)).toEqual(run(fn));
    });
  });
});
