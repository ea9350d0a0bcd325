/**
 * @file What steps with a static cache store into it: their own rows, not the cache.
 */
import { compile, observeCompilations } from '@tessera/compile';
import { type Tensor, noGrad, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { StaticCache } from '../src/index.js';
import { GPT2, LLAMA, tinyModel } from './support/tiny-model.js';

type ExecutionPlan = Parameters<Parameters<typeof observeCompilations>[0]>[1]['plan'];

const LENGTH = 512;

/** Elements that a plan stores into inputs as large as a cache. */
function storedIntoCaches(plan: ExecutionPlan, cacheSize: number): number {
  let count = 0;
  for (const launch of plan.launches) {
    const kernel = plan.kernels[launch.kernel]!;
    if (kernel.kind !== 'loop' && kernel.kind !== 'matmul') continue;
    const loops =
      kernel.kind === 'loop' ? kernel.outer : [...kernel.batch, ...kernel.m, ...kernel.n];
    const outer = loops.reduce((n, { size }) => n * size, 1);
    const inner =
      kernel.kind === 'loop' ? kernel.inner.reduce((n, { size }) => n * size, outer) : outer;
    const stages =
      kernel.kind === 'loop' ? kernel.stages : [{ kind: 'outer' as const, body: kernel.epilogue }];
    for (const { kind, body } of stages)
      for (const stmt of body) {
        if (stmt.kind !== 'store') continue;
        const at = kernel.params.findIndex(({ name }) => name === stmt.buf);
        const { source, numel } = plan.buffers[launch.buffers[at]!]!;
        if (source.kind === 'input' && numel === cacheSize)
          count += kind === 'inner' ? inner : outer;
      }
  }
  return count;
}

describe.each([
  ['llama', LLAMA],
  ['gpt2', GPT2],
])('a step of %s', (_, config) => {
  it.each([1, 16])('of %i tokens stores as many rows in each cache', (count) => {
    const model = tinyModel(config);
    const [cache, eager] = [0, 1].map(
      () => new StaticCache(model.config, LENGTH, { batch: 1 }),
    ) as [StaticCache, StaticCache];
    const place = zeros([1], { dtype: 'int64' });
    const step = (own: StaticCache) => (ids: Tensor, at: Tensor) =>
      model.at(ids, at, { cache: own });
    const run = compile(step(cache), { fullgraph: true, dynamic: false });
    const plans: ExecutionPlan[] = [];
    const stop = observeCompilations((__, { plan }) => plans.push(plan));
    for (const start of [0, count, 40]) {
      const ids = tensor([Array.from({ length: count }, (__, i) => (i * 5 + start) % 31)], {
        dtype: 'int64',
      });
      const places = place.add(
        tensor(
          Array.from({ length: count }, (__, i) => start + i),
          { dtype: 'int64' },
        ),
      );
      const [actual, expected] = noGrad(() => [run(ids, places), step(eager)(ids, places)]);
      expect(Number(actual.sub(expected).abs().max().toArray())).toBeLessThan(1e-4);
      for (const [i, keys] of cache.keys.entries())
        expect(Number(keys.sub(eager.keys[i]!).abs().max().toArray())).toBeLessThan(1e-5);
    }
    stop();
    const [keys] = cache.keys;
    const rows = (keys!.numel / LENGTH) * count * 2 * cache.keys.length;
    expect(
      plans
        .filter(({ launches }) => launches.length > 4)
        .map((plan) => storedIntoCaches(plan, keys!.numel)),
    ).toEqual([rows]);
  });
});
