/**
 * @file Calls on memory that others hold too: suspended calls beside a skipped one, and views of what is written.
 */
import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

describe('a skipped call beside a suspended one', () => {
  const start = (fn: (t: Tensor) => Promise<unknown>): typeof fn => {
    const { call } = compileEager(fn);
    return call;
  };

  it('sees what that one has written before', async () => {
    const add = start(async (t) => {
      t.add_(1);
      await undefined;
      return t;
    });
    const { call: double } = compileEager((t: Tensor) => t.mul(2), { pure: true });
    const t = tensor([1, 2]);
    double(t);
    for (let i = 1; i <= 3; i++) {
      const running = add(t);
      expect(double(t).toArray()).toEqual([2 * (1 + i), 2 * (2 + i)]);
      await running;
    }
  });

  it('writes after that one has read', async () => {
    const double = start(async (t) => {
      const made = t.mul(2);
      await undefined;
      return made;
    });
    let runs = 0;
    const write = (t: Tensor): Tensor => {
      runs++;
      return t.add_(10).sum();
    };
    const { call: add } = compileEager(write, { pure: true });
    const t = tensor([1, 2]);
    for (let i = 0; i < 4; i++) {
      const before = t.mul(2).toArray();
      const running = double(t);
      expect(add(t).item()).toBe(3 + 20 * (i + 1));
      expect(((await running) as Tensor).toArray()).toEqual(before);
    }
    expect(runs).toBe(1);
  });
});

it('a skipped call returns the arguments of this call that operators read', () => {
  const { call } = compileEager((t: Tensor) => [t, t.add(1)], { pure: true });
  for (let i = 0; i < 3; i++) {
    const t = tensor([i]);
    const [first, second] = call(t);
    expect(first).toBe(t);
    expect(second!.toArray()).toEqual([i + 1]);
  }
});

it('what is a view of written memory takes its gradient, what was detached does not', () => {
  const w = ones([2]).requiresGrad_();
  const fn = (a: Tensor, b: Tensor): [Tensor, boolean, Tensor] => {
    const before = b.sum();
    a.add_(w);
    return [before, b.requiresGrad, b.mul(2)];
  };
  const { call } = compileEager(fn);
  const views: ((a: Tensor) => Tensor)[] = [(a) => a.view([2]), (a) => a.detach(), (a) => a];
  for (const view of [...views, ...views, ...views]) {
    const shown = [fn, call].map((run) => {
      const a = tensor([1, 2]);
      const [before, takes, after] = run(a, view(a));
      return [before.item(), takes, after.requiresGrad, after.toArray()];
    });
    expect(shown[1]).toEqual(shown[0]);
  }
});

describe('arguments that are parts of the same data', () => {
  const data = ones([6, 3]).cumsum(0);

  it('do not count where something else is written', () => {
    const total = tensor([0, 0, 0]);
    const fn = (x: Tensor): Tensor => {
      total.add_(x.select(0, 0));
      return x.sub(data.narrow(0, 1, 2)).add(total);
    };
    const { call, function: compiled } = compileEager(fn);
    for (let i = 0; i < 5; i++) {
      const before = total.clone();
      const result = call(data.narrow(0, i, 2)).toArray();
      const after = total.clone();
      total.copy_(before);
      expect(result).toEqual(fn(data.narrow(0, i, 2)).toArray());
      expect(total.equal(after)).toBe(true);
    }
    call(ones([2, 3])); // of other memory
    expect(compiled.captures.length).toBe(1);
  });

  it('count from the call on in which one is part of what is written', () => {
    const memory = ones([4, 3]);
    const fn = (x: Tensor, y: Tensor, target: Tensor): Tensor => {
      target.add_(1);
      return x.mul(y);
    };
    const { call, function: compiled } = compileEager(fn);
    const own = tensor([0, 0, 0]);
    const calls: readonly (() => [Tensor, Tensor, Tensor])[] = [
      () => [data.select(0, 0), data.select(0, 1), own],
      () => [data.select(0, 0), data.select(0, 0), own],
      () => [data.select(0, 0), memory.select(0, 2), memory.select(0, 2)],
      () => [memory.select(0, 1), data.select(0, 0), memory.select(0, 1)],
    ];
    for (let round = 0; round < 2; round++)
      for (const make of calls) {
        const expected = fn(...(make().map((t) => t.clone()) as [Tensor, Tensor, Tensor]));
        const [x, y, target] = make();
        const shares = x.storage === target.storage || y.storage === target.storage;
        const result = call(x, y, target);
        if (!shares) expect(result.toArray()).toEqual(expected.toArray());
        else expect(result.equal(x.mul(y))).toBe(true);
      }
    expect(compiled.captures.length).toBe(3);
  });
});
