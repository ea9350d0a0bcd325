/**
 * @file Steps with a static cache read what is written of it: in blocks of keys, up to the last place of a query.
 */
import { compile, observeCompilations } from '@tessera/compile';
import { type Tensor, arange, noGrad, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { StaticCache } from '../src/index.js';
import { GPT2, LLAMA, tinyModel } from './support/tiny-model.js';

const LENGTH = 256;
/** Keys that are read together. */
const BLOCK = 64;

const wholes = (x: number[] | number[][]): Tensor => tensor(x, { dtype: 'int64' });

/** Makes rows of the caches from a place on not a number. */
function spoil({ keys, values }: StaticCache, from: number): void {
  for (const part of [...keys, ...values]) part.narrow(2, from, LENGTH - from).fill_(NaN);
}

const numbers = (logits: Tensor): number[] => [...(logits.toTypedArray() as Float32Array)];

describe.each([
  ['llama', LLAMA, false],
  ['gpt2', { ...GPT2, n_positions: LENGTH }, false],
  ['llama, padded', LLAMA, true],
  ['llama with a window', { ...LLAMA, model_type: 'mistral', sliding_window: 40 }, false],
])('a step of %s', (_, config, isPadded) => {
  it.each([1, 16])('of %i tokens never reads blocks behind its last token', (count) => {
    const model = tinyModel(config);
    const [cache, eager] = [0, 1].map(
      () => new StaticCache(model.config, LENGTH, { batch: 2 }),
    ) as [StaticCache, StaticCache];
    const place = zeros([1], { dtype: 'int64' });
    const real = isPadded
      ? arange(LENGTH)
          .unsqueeze(0)
          .ge(wholes([[0], [5]]))
      : null;
    const step = (own: StaticCache) => (ids: Tensor, at: Tensor) => {
      const places = count === 1 ? at : at.add(arange(count));
      return model.at(ids, places, { cache: own, attentionMask: real });
    };
    const run = compile(step(cache), { fullgraph: true, dynamic: false });
    let compilations = 0;
    const stop = observeCompilations(() => compilations++);
    // Places go up and down; what is behind the block of the last token is spoilt each time.
    for (const from of [0, 16, BLOCK - count, BLOCK, 100, 3 * BLOCK - 1, LENGTH - count, 30]) {
      const end = Math.min(LENGTH, Math.ceil((from + count) / BLOCK) * BLOCK);
      if (end < LENGTH) spoil(cache, end);
      place.fill_(from);
      const row = (first: number): number[] =>
        Array.from({ length: count }, (__, i) => (i * 5 + from + first) % 31);
      const ids = wholes([row(0), row(3)]);
      const [actual, expected] = noGrad(() => [run(ids, place), step(eager)(ids, place)]);
      const [a, e] = [numbers(actual), numbers(expected)];
      const kept = isPadded && from < 5 ? e.length / 2 : e.length;
      for (let i = 0; i < kept; i++) expect(Math.abs(a[i]! - e[i]!)).toBeLessThan(1e-4);
      // Rows that were spoilt and never written are as those of the other cache, for the places that come later.
      for (const [i, part] of [...cache.keys, ...cache.values].entries())
        part.copy_([...eager.keys, ...eager.values][i]!);
    }
    stop();
    expect(compilations).toBe(1);
  });
});
