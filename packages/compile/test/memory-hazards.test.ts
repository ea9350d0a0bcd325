/**
 * @file What recorded ops have yet to read is read before it is overwritten, whoever does that: code that
 * runs while an async function waits, another call, raw writes, `dispose()`.
 */
import { type Tensor, noGrad, tensor } from '@tessera/tensor';
import { writeNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Call = (...args: any[]) => any;

describe.each(['eager', 'aot_eager', 'inductor'])('with %s', (backend) => {
  /** Runs a program made of functions, eager and compiled, and compares what it says. */
  const same = async (
    program: (make: (fn: Call, options?: object) => Call) => Promise<unknown> | unknown,
  ): Promise<void> => {
    const expected = await program((fn) => fn);
    expect(await program((fn, options) => compile(fn, { backend, ...options }))).toEqual(expected);
  };
  const repeat = async (call: (i: number) => unknown): Promise<unknown[]> => {
    const results: unknown[] = [];
    for (let i = 0; i < 4; i++) results.push(await call(i));
    return results;
  };

  it('an argument that the caller changes while the function waits', () =>
    same((make) => {
      const f = make(async (x: Tensor) => {
        const y = x.mul(2);
        await tick();
        return y.add(x);
      });
      return repeat(async (i) => {
        const x = tensor([i, 1]);
        const pending = f(x) as Promise<Tensor>;
        x.add_(10);
        return [(await pending).toArray(), x.toArray()];
      });
    }));

  it('shared state that concurrent calls read and write between their waits', () =>
    same((make) => {
      const state = tensor([0]);
      const f = make(async (x: Tensor) => {
        state.add_(x);
        await tick();
        const y = state.mul(2);
        state.add_(1);
        await tick();
        return y.add(state);
      });
      return repeat(async (i) => {
        const results = await Promise.all([i, 1, 2].map((n) => f(tensor([n])) as Promise<Tensor>));
        return [...results, state].map((t) => t.toArray());
      });
    }));

  it('another compiled function, replayed or skipped, that writes meanwhile', () =>
    same((make) => {
      const state = tensor([1, 1]);
      const w = tensor([1, 2], { requiresGrad: true });
      const f = make(async (x: Tensor) => {
        const y = state.mul(2).add(w.detach());
        await tick();
        return y.add(x);
      });
      const write = make((s: Tensor, x: Tensor) => s.add_(x).sum(), { pure: true });
      const train = make((x: Tensor) => {
        w.grad = null;
        w.mul(x).sum().backward();
        noGrad(() => w.sub_(w.grad!.mul(0.5)));
      });
      return repeat(async (i) => {
        const pending = f(tensor([i, 1])) as Promise<Tensor>;
        write(state, tensor([1, 2]));
        train(tensor([i + 1, 2]));
        return [await pending, state, w].map((t) => t.detach().toArray());
      });
    }));

  it('raw values written, and memory released, inside the function', () =>
    same((make) => {
      const write = make((x: Tensor) => {
        const y = x.mul(2);
        writeNumbers(x, [7, 7]);
        return y.add(x);
      });
      const release = make((x: Tensor) => {
        const y = x.mul(2);
        x.dispose();
        return y.add(1);
      });
      return repeat((i) => [write(tensor([i, 1])).toArray(), release(tensor([i, 1])).toArray()]);
    }));

  it('a write through a view, read through its base', () =>
    same((make) => {
      const f = make((x: Tensor) => {
        const view = x.view([-1]);
        view.add_(1);
        return view.mul((x.toArray() as number[])[0]!);
      });
      return repeat((i) => f(tensor([i, 1])).toArray());
    }));
});

describe('memory that is changed outside the graph', () => {
  it('is a graph break with a code', () => {
    const fn = (x: Tensor): Tensor => {
      const y = x.mul(2);
      writeNumbers(x, [7, 7]);
      return y.add(x);
    };
    const { breakReasons } = explain(fn)(tensor([1, 2]));
    expect(breakReasons.map(({ code }) => code)).toEqual(['GB0009']);
    expect(breakReasons[0]!.location).toContain('memory-hazards.test.ts');
  });
});
