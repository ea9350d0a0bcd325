/**
 * @file Writes to parts of arguments in compiled functions: what they store, at which sizes, and what refuses them.
 */
import type { ExecutionPlan, FusedKernel } from '@tessera/inductor-core';
import { counters } from '@tessera/shared';
import { type Tensor, noGrad, ones, randn, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, observeCompilations } from '../src/index.js';

/** Plans that are made while a function runs. */
function plansOf(run: () => void): ExecutionPlan[] {
  const plans: ExecutionPlan[] = [];
  const stop = observeCompilations((_, { plan }) => plans.push(plan));
  run();
  stop();
  return plans;
}

/** Elements that a loop kernel stores at each of its points' stores. */
function stored(kernel: FusedKernel): number {
  if (kernel.kind !== 'loop') return 0;
  const points = [...kernel.outer, ...kernel.inner].reduce((n, { size }) => n * size, 1);
  return (
    points * kernel.stages.flatMap(({ body }) => body.filter(({ kind }) => kind === 'store')).length
  );
}

const values = (t: Tensor): number[] => t.reshape([-1]).toArray() as number[];

function same(actual: Tensor, expected: Tensor): void {
  const [a, e] = [values(actual), values(expected)];
  e.forEach((value, i) => expect(a[i]).toBeCloseTo(value, 4));
}

describe('a row written to a cache', () => {
  const step = (cache: Tensor, row: Tensor, at: number): Tensor => {
    cache.slice(1, at, at + 1).copy_(row);
    return cache.sum(1);
  };

  it('is all that is stored, at every place, by one compilation', () => {
    const [eager, compiled] = [zeros([4, 100, 32]), zeros([4, 100, 32])];
    const run = compile(step, { fullgraph: true });
    const compilations = (): number => {
      const { graphs = 0, shared = 0 } = counters.get('inductor');
      return graphs - shared;
    };
    let known = 0;
    const plans = plansOf(() =>
      noGrad(() =>
        [3, 8, 0, 99, 41, 42, 7].forEach((at, i) => {
          const row = randn([4, 1, 32]);
          same(run(compiled, row, at), step(eager, row, at));
          same(compiled, eager);
          if (i === 3) known = compilations();
        }),
      ),
    );
    expect(compilations()).toBe(known);
    const writes = plans.flatMap((plan) =>
      plan.kernels.filter(({ name }) => name.includes('scatter')),
    );
    expect(writes.map(stored)).toEqual(writes.map(() => 128));
    expect(writes.length).toBeGreaterThan(0);
  });

  it('may come with other lengths of the cache', () => {
    const run = compile(step, { dynamic: true });
    for (const length of [80, 100, 130, 97]) {
      const [eager, compiled, row] = [
        zeros([4, length, 32]),
        zeros([4, length, 32]),
        randn([4, 1, 32]),
      ];
      for (const at of [length - 1, 2]) same(run(compiled, row, at), step(eager, row, at));
      same(compiled, eager);
    }
  });
});

describe('a write at an index', () => {
  const write = (cache: Tensor, at: Tensor, rows: Tensor): Tensor => {
    cache.indexCopy_(0, at, rows);
    return cache.sum(0);
  };

  it.each([1, 3])('does not happen if one of %i indices is out of range', (count) => {
    const run = compile(write);
    const cache = ones([90, 32]);
    const at = (last: number): Tensor =>
      tensor([...Array<number>(count - 1).fill(4), last], { dtype: 'int64' });
    same(run(cache, at(89), randn([count, 32])).mul(0), zeros([32]));
    const before = values(cache);
    for (const bad of [90, -1])
      expect(() => run(cache, at(bad), randn([count, 32]))).toThrow(
        expect.objectContaining({ code: 'index-out-of-range' }),
      );
    expect(values(cache)).toEqual(before);
  });

  it('waits for checks that the program made before', () => {
    const run = compile((cache: Tensor, table: Tensor, at: Tensor, row: Tensor) => {
      const looked = table.take(at);
      cache.select(0, 5).copy_(row);
      return looked.add(cache.sum(0));
    });
    const [cache, table] = [ones([90, 32]), randn([64])];
    const at = (bad: number): Tensor =>
      tensor([...Array<number>(31).fill(1), bad], { dtype: 'int64' });
    expect(() => run(cache, table, at(64), zeros([32]))).toThrow(
      expect.objectContaining({ code: 'index-out-of-range' }),
    );
    expect(values(cache)).toEqual(values(ones([90, 32])));
    run(cache, table, at(63), zeros([32]));
    expect(values(cache.sum(0))).toEqual(Array(32).fill(89));
  });
});

describe('arguments that share memory', () => {
  it('see each other', () => {
    const program = (x: Tensor, y: Tensor): Tensor => {
      const before = y.sum(1);
      x.select(0, 7).fill_(3);
      y.slice(0, 1, 3).mul_(2);
      return before.add(x.sum(1));
    };
    const run = compile(program);
    const [eager, compiled] = [0, 1].map(() => ones([100, 64]).cumsum(0)) as [Tensor, Tensor];
    const both = (t: Tensor): [Tensor, Tensor] => [t.narrow(0, 0, 80), t.narrow(0, 5, 80)];
    same(run(...both(compiled)), program(...both(eager)));
    same(compiled, eager);
    same(run(compiled, compiled), program(eager, eager));
    same(compiled, eager);
  });
});

describe('training', () => {
  it('keeps what was written for the backward', () => {
    const program = (memory: Tensor, x: Tensor): Tensor => {
      noGrad(() => memory.slice(0, 10, 14).copy_(x.mul(2)));
      return memory.matmul(x.t()).square().mean();
    };
    const [eager, compiled] = [ones([100, 32]), ones([100, 32])];
    const start = randn([4, 32]);
    const [a, b] = [start.clone().requiresGrad_(), start.clone().requiresGrad_()];
    const run = compile(program);
    for (let i = 0; i < 2; i++) {
      program(eager, a).backward();
      run(compiled, b).backward();
    }
    same(compiled, eager);
    same(b.grad!, a.grad!);
  });
});
