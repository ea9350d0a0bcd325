/**
 * @file Datasets put together and divided, and samples drawn by weight.
 */
import { type Tensor, arange, manualSeed } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  ConcatDataset,
  DataLoader,
  type Dataset,
  TensorDataset,
  randomSplit,
  weightedRandomSampler,
} from '../src/index.js';

const numbers = (from: number, to: number): TensorDataset => new TensorDataset(arange(from, to));
const valuesOf = (dataset: Dataset<Tensor[]>): number[] =>
  Array.from(
    { length: dataset.length },
    (_, i) => (dataset.get(i) as Tensor[])[0]!.item() as number,
  );
const ascending = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b);

describe('ConcatDataset', () => {
  it('has the samples of all, in order', () => {
    const all = new ConcatDataset([numbers(0, 3), numbers(3, 3), numbers(3, 5)]);
    expect([all.length, valuesOf(all)]).toEqual([5, [0, 1, 2, 3, 4]]);
    expect([...new DataLoader(all, { batchSize: 4 })].map(([x]) => x!.numel)).toEqual([4, 1]);
  });

  it('refuses what is no list of datasets', () => {
    for (const wrong of [numbers(0, 2), [], [3]])
      expect(() => new ConcatDataset(wrong as unknown as Dataset<Tensor[]>[])).toThrow(
        /a list of datasets expected/,
      );
  });
});

describe('randomSplit', () => {
  it('divides all samples, by lengths or shares', () => {
    const dataset = numbers(0, 10);
    for (const lengths of [
      [7, 3],
      [0.7, 0.3],
      [0.7, 0.2, 0.1],
      [1 / 3, 1 / 3, 1 / 3],
    ]) {
      const parts = randomSplit(dataset, lengths, { seed: 1 });
      expect(ascending(parts.flatMap(valuesOf))).toEqual(valuesOf(dataset));
    }
    // As in PyTorch, what is left over goes to the first parts.
    expect(randomSplit(dataset, [1 / 3, 1 / 3, 1 / 3]).map((part) => part.length)).toEqual([
      4, 3, 3,
    ]);
  });

  it('is repeatable by its seed, or by the global one', () => {
    const split = (options?: { seed: number }): number[] =>
      valuesOf(randomSplit(numbers(0, 30), [20, 10], options)[0]!);
    expect(split({ seed: 4 })).toEqual(split({ seed: 4 }));
    expect(split({ seed: 4 })).not.toEqual(split({ seed: 5 }));
    manualSeed(2);
    const first = split();
    manualSeed(2);
    expect(split()).toEqual(first);
  });

  it('refuses lengths that do not add up', () => {
    for (const lengths of [[7, 4], [0.5, 0.4], [10.5, -0.5], []])
      expect(() => randomSplit(numbers(0, 10), lengths)).toThrow(/does not equal the length/);
  });
});

describe('weightedRandomSampler', () => {
  const weights = [0, 1, 2, 7];

  it.each([{ seed: 3 }, {}])('draws as often as weights say %o', (options) => {
    manualSeed(1);
    const sampler = weightedRandomSampler(weights, 20_000, options);
    const counts = [0, 0, 0, 0];
    for (const at of sampler(0)) counts[Number(at)]!++;
    expect(counts[0]).toBe(0);
    // Three standard deviations of 20,000 draws are below 0.011.
    weights.forEach((weight, i) =>
      expect(Math.abs(counts[i]! / 20_000 - weight / 10)).toBeLessThan(0.015),
    );
  });

  it.each([{ seed: 3 }, {}])('draws none twice without replacement %o', (options) => {
    const sampler = weightedRandomSampler(weights, 3, { replacement: false, ...options });
    expect(ascending(Array.from(sampler(0), Number))).toEqual([1, 2, 3]);
    // The heaviest is the first of most epochs: 7 of 10.
    const firsts = Array.from({ length: 300 }, (_, epoch) => Number([...sampler(epoch)][0]));
    expect(firsts.filter((at) => at === 3).length).toBeGreaterThan(170);
  });

  it('says how many samples an epoch has', () => {
    const sampler = weightedRandomSampler([1, 1, 1], 10, { seed: 0 });
    const loader = new DataLoader(numbers(0, 3), { batchSize: 4, sampler });
    expect(loader.length).toBe(3);
    expect([...loader].map(([x]) => x!.numel)).toEqual([4, 4, 2]);
  });

  it('refuses weights and numbers that cannot be drawn', () => {
    for (const wrong of [[], [0, 0], [1, -1], [NaN, 1], [Infinity]])
      expect(() => weightedRandomSampler(wrong, 1)).toThrow(/weights are finite numbers/);
    expect(() => weightedRandomSampler(weights, 4, { replacement: false })).toThrow(/from 1 to 3/);
    expect(() => weightedRandomSampler(weights, 0)).toThrow(/whole number from 1/);
  });
});
