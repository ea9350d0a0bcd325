/**
 * @file Compiled async functions, traced across their waits, and generators: with eager results.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { type Tensor, add, mul, noGrad, tensor } from '@tessera/tensor';
import { useAsyncContext } from '../src/suspended/suspended-calls.js';
import { compileEager } from './compile-for-test.js';

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
const x = tensor([1, 2]);

afterAll(() => useAsyncContext(true));

describe.each([true, false])('async functions (host follows await: %s)', (followed) => {
  useAsyncContext(followed);
  const setUp = (): void => useAsyncContext(followed);

  it('await item() is a graph break like any other', async () => {
    setUp();
    const fn = async (t: Tensor): Promise<Tensor> => {
      const y = mul(t, 2);
      const s = await y.sum().item();
      return s > 5 ? add(y, s) : mul(y, y);
    };
    const { call, function: compiled } = compileEager(fn);
    for (const values of [
      [1, 2],
      [3, 4],
      [1, 2],
      [0, 1],
      [0, 2],
    ]) {
      const t = tensor(values);
      expect((await call(t)).toArray()).toEqual((await fn(t)).toArray());
    }
    // Both branches; and the sum, read and added, became a runtime scalar.
    expect(compiled.captures.length).toBe(3);
    expect(compiled.captures[0]!.segments.length).toBe(2);
  });

  it('a function that gives a promise is one, from its second call on', async () => {
    setUp();
    const inner = async (t: Tensor): Promise<Tensor> => {
      const y = mul(t, 2);
      await tick();
      return add(mul(y, t), 1);
    };
    const { call, function: compiled } = compileEager((t: Tensor) => inner(t));
    for (let i = 0; i < 4; i++)
      expect((await (call(tensor([i, 2])) as unknown as Promise<Tensor>)).toArray()).toEqual([
        2 * i * i + 1,
        9,
      ]);
    const { segments } = compiled.captures.at(-1)!;
    expect(segments.at(-1)!.graphModule.print()).toContain('aten.add.Tensor');
  });

  it('a wait that has nothing to do with tensors breaks nothing', async () => {
    setUp();
    const {
      call,
      graphs,
      function: compiled,
    } = compileEager(async (t: Tensor) => {
      const y = mul(t, 2);
      await tick();
      return add(y, 1);
    });
    for (let i = 0; i < 3; i++) expect((await call(x)).toArray()).toEqual([3, 5]);
    expect(graphs.length).toBe(1);
    expect(compiled.captures.length).toBe(1);
  });

  it('concurrent calls that accumulate into one gradient', async () => {
    setUp();
    const { call } = compileEager(async (t: Tensor): Promise<void> => {
      t.sum().backward();
      return Promise.resolve();
    });
    for (const times of [1, 2, 2, 3]) {
      const t = tensor([1, 2], { requiresGrad: true });
      await Promise.all(Array.from({ length: times }, () => call(t)));
      expect(t.grad!.toArray()).toEqual([times, times]);
    }
  });

  it('concurrent calls of one function', async () => {
    setUp();
    const w = tensor([10, 20]);
    const { call, function: compiled } = compileEager(async (t: Tensor, n: number) => {
      let y = mul(t, w);
      for (let i = 0; i < 3; i++) {
        if (n % 2 === 0) await tick();
        y = add(y, w);
      }
      return y;
    });
    for (let round = 0; round < 3; round++) {
      const results = await Promise.all([0, 1, 2, 3].map((n) => call(tensor([n, n + 1]), n)));
      results.forEach((y, n) => expect(y.toArray()).toEqual([10 * n + 30, 20 * (n + 1) + 60]));
    }
    expect(compiled.captures.length).toBeLessThanOrEqual(4);
  });

  it('a write before a wait is seen by others, and by a concurrent call', async () => {
    setUp();
    const state = tensor([0]);
    const { call } = compileEager(async (t: Tensor) => {
      state.add_(1);
      await tick();
      return add(t, state);
    });
    for (let i = 0; i < 3; i++) {
      const before = state.item();
      const one = call(tensor([10]));
      expect(state.item()).toBe(before + 1);
      const two = call(tensor([20]));
      expect((await one).toArray()).toEqual([10 + before + 2]);
      expect((await two).toArray()).toEqual([20 + before + 2]);
    }
  });

  it('a rejection after a break leaves the state of eager', async () => {
    setUp();
    const state = tensor([0]);
    let fail = true;
    const { call } = compileEager(async (t: Tensor) => {
      state.add_(1);
      await t.sum().item();
      state.mul_(10);
      if (fail) throw new Error('stop');
      return add(t, state);
    });
    await expect(call(x)).rejects.toThrow('stop');
    expect(state.item()).toBe(10);
    fail = false;
    for (const want of [110, 1110, 11110])
      expect((await call(tensor([0]))).toArray()).toEqual([want]);
  });

  it('a value that only a later call reads, behind operators without recording', async () => {
    const { call } = compileEager(async (t: Tensor, reads: boolean) => {
      await undefined;
      const twice = noGrad(() => t.mul(2));
      const sum = twice.sum();
      return reads ? sum.item() : sum;
    });
    for (const reads of [false, true, false, true]) {
      const sum = await call(x, reads);
      expect(typeof sum === 'number' ? sum : sum.item()).toBe(6);
    }
  });

  it('two calls on one tensor, when sizes vary', async () => {
    const { call } = compileEager(async (t: Tensor) => {
      const second = t.unbind(0)[1]!;
      await undefined;
      t.copy_(t.mul(2));
      return second;
    });
    for (const size of [4, 5, 4, 6]) {
      const t = tensor(Array.from({ length: size }, () => 1));
      await Promise.all([call(t), call(t)]);
      expect(t.toArray()).toEqual(Array.from({ length: size }, () => 4));
    }
  });

  it('code outside runs eagerly meanwhile', async () => {
    setUp();
    const { call, function: compiled } = compileEager(async (t: Tensor) => {
      const y = mul(t, 3);
      await tick();
      return y.sum();
    });
    for (let i = 0; i < 3; i++) {
      const pending = call(x);
      expect(add(x, 1).toArray()).toEqual([2, 3]);
      expect((await pending).item()).toBe(9);
    }
    if (followed) expect(compiled.captures.length).toBe(1);
  });
});

describe('generators', () => {
  it('give what they give in eager', () => {
    function* fn(t: Tensor, n: number): Generator<Tensor, string> {
      let y = t;
      for (let i = 0; i < n; i++) {
        y = add(mul(y, 2), 1);
        yield y;
      }
      return 'done';
    }
    const { call, function: compiled } = compileEager(fn);
    for (let i = 0; i < 3; i++) {
      expect([...call(x, 3)].map((t) => t.toArray())).toEqual(
        [...fn(x, 3)].map((t) => t.toArray()),
      );
    }
    expect(compiled.captures.length).toBe(1);
    const abandoned = call(x, 3);
    expect(abandoned.next().value).toBeDefined();
    expect([...call(x, 2)].map((t) => t.toArray())).toEqual([
      [3, 5],
      [7, 11],
    ]);
    expect((abandoned.next().value as Tensor).toArray()).toEqual([7, 11]);
    expect(abandoned.return('stop')).toEqual({ done: true, value: 'stop' });
  });

  it('two generators of one function interleave', () => {
    function* fn(t: Tensor): Generator<Tensor> {
      const y = mul(t, 2);
      yield y;
      yield add(y, t);
    }
    const { call } = compileEager(fn);
    for (let i = 0; i < 3; i++) {
      const [a, b] = [call(tensor([1])), call(tensor([5]))];
      const seen = [a.next(), b.next(), a.next(), b.next()].map((s) => (s.value as Tensor).item());
      expect(seen).toEqual([2, 10, 3, 15]);
      expect([a.next().done, b.next().done]).toEqual([true, true]);
    }
  });
});

describe('reentrancy', () => {
  it('a compiled function called from a backward hook of its own', () => {
    const { call } = compileEager((t: Tensor) => mul(add(t, 1), 2).sum());
    for (let i = 0; i < 3; i++) {
      const t = tensor([1, 2], { requiresGrad: true });
      const seen: number[] = [];
      t.registerHook((g) => {
        seen.push(call(g.detach()).item());
        return g;
      });
      call(t).backward();
      expect(seen).toEqual([12]);
      expect(t.grad!.toArray()).toEqual([2, 2]);
    }
  });

  it('recursion and mutual recursion are part of one trace', () => {
    const power: (t: Tensor, n: number) => Tensor = (t, n) =>
      n === 0 ? t.mul(0).add(1) : mul(t, outer.call(t, n - 1));
    const outer = compileEager(power);
    for (let i = 0; i < 3; i++) expect(outer.call(tensor([2, 3]), 3).toArray()).toEqual([8, 27]);
    expect(outer.graphs.length).toBe(1);
  });

  it('a compiled function called between the parts of another', () => {
    const inner = compileEager((t: Tensor) => mul(t, 3));
    const outer = compileEager((t: Tensor) => {
      const y = add(t, 1);
      const n = y.sum().item();
      return add(inner.call(y), n);
    });
    for (let i = 0; i < 3; i++) expect(outer.call(x).toArray()).toEqual([11, 14]);
  });
});
