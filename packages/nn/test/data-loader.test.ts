/**
 * @file DataLoader: batching, order, workers, and what it refuses.
 */
import { type Tensor, arange, manualSeed, tensor } from '@tessera/tensor';
import { describe, expect, it, vi } from 'vitest';
import { DataLoader, Subset, TensorDataset, defaultCollate } from '../src/index.js';

const numbers = (count: number): TensorDataset => new TensorDataset(arange(count));
const values = (batch: Tensor[]): number[] => batch[0]!.toArray() as number[];

describe('DataLoader', () => {
  it('batches in order; the last batch may be short or left out', () => {
    const loader = new DataLoader(numbers(5), { batchSize: 2 });
    expect([...loader].map(values)).toEqual([[0, 1], [2, 3], [4]]);
    expect(loader.length).toBe(3);
    const whole = new DataLoader(numbers(5), { batchSize: 2, dropLast: true });
    expect([...whole].map(values)).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(whole.length).toBe(2);
  });

  it('shuffles by seed: other orders in other epochs, the same ones again', () => {
    const make = (): DataLoader<Tensor[], Tensor[]> =>
      new DataLoader(numbers(20), { batchSize: 20, shuffle: true, seed: 7 });
    const loader = make();
    const epochs = [0, 1, 2].map(() => values([...loader][0]!));
    expect(new Set(epochs.map(String)).size).toBe(3);
    for (const order of epochs)
      expect([...order].sort((a, b) => a - b)).toEqual(arange(20).toArray());
    const resumed = make();
    resumed.epoch = 2;
    expect(values([...resumed][0]!)).toEqual(epochs[2]);
  });

  it('shuffles by the global generator without a seed', () => {
    const order = (): number[] => {
      manualSeed(3);
      return values([...new DataLoader(numbers(20), { batchSize: 20, shuffle: true })][0]!);
    };
    expect(order()).toEqual(order());
    expect(order()).not.toEqual(arange(20).toArray());
  });

  it('batches records, numbers, lists and strings', () => {
    const batch = defaultCollate([
      { x: new Float32Array([1, 2]), label: 3, pair: [true, 0.5] as const, name: 'a' },
      { x: new Float32Array([4, 5]), label: 6, pair: [false, 1.5] as const, name: 'b' },
    ]);
    expect(batch.x.toArray()).toEqual([
      [1, 2],
      [4, 5],
    ]);
    expect([batch.label.dtype, batch.label.toArray()]).toEqual(['int64', [3, 6]]);
    expect(batch.pair[0].dtype).toBe('bool');
    expect(batch.pair[1].toArray()).toEqual([0.5, 1.5]);
    expect(batch.name).toEqual(['a', 'b']);
  });

  it('takes samplers, subsets, iterables and a collate function', async () => {
    const odd = new DataLoader(numbers(6), { batchSize: 3, sampler: () => [5, 3, 1] });
    expect([...odd].map(values)).toEqual([[5, 3, 1]]);
    const some = new DataLoader(new Subset(numbers(6), [4, 2]), { batchSize: 2 });
    expect([...some].map(values)).toEqual([[4, 2]]);
    const sums = new DataLoader([1, 2, 3], {
      batchSize: 2,
      collate: (samples) => samples.reduce((a, b) => a + b, 0),
    });
    expect([...sums]).toEqual([3, 3]);
    async function* stream(): AsyncGenerator<number> {
      yield* [1, 2, 3];
    }
    const batches: unknown[] = [];
    for await (const batch of new DataLoader(stream(), { batchSize: 2 }))
      batches.push(batch.toArray());
    expect(batches).toEqual([[1, 2], [3]]);
  });

  it('decodes on workers, in order, and passes their failures on', async () => {
    const texts = ['1,2', '3,4', '5,6', '7,8', '9,10'];
    const dataset = (list: string[]) => ({
      length: list.length,
      get: async (i: number) =>
        ({ text: list[i]!, label: i }) as unknown as { x: Float32Array; label: number },
    });
    const workers = { module: new URL('./data/decode-sample.mjs', import.meta.url), count: 2 };
    const seen: unknown[] = [];
    for await (const { x, label } of new DataLoader(dataset(texts), { batchSize: 2, workers }))
      seen.push([x.toArray(), label.toArray()]);
    expect(seen).toEqual([
      [
        [
          [1, 2],
          [3, 4],
        ],
        [0, 1],
      ],
      [
        [
          [5, 6],
          [7, 8],
        ],
        [2, 3],
      ],
      [[[9, 10]], [4]],
    ]);
    const failing = new DataLoader(dataset(['1,2', 'bad']), { workers });
    await expect(
      (async () => {
        for await (const _ of failing);
      })(),
    ).rejects.toThrow('cannot decode this sample');
  });

  it('says what to do in a page whose policy forbids workers from blobs', async () => {
    /** Such a worker fails without a word; where scripts need trusted types, its constructor throws. */
    class Silent {
      addEventListener(type: string, listener: (event: { message: string }) => void): void {
        if (type === 'error') setTimeout(() => listener({ message: '' }));
      }
      postMessage(): void {}
      terminate(): void {}
    }
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
    const loader = new DataLoader(['1'], { workers: { module: 'decode.js', count: 1 } });
    const next = (): Promise<unknown> => loader[Symbol.asyncIterator]().next();
    try {
      vi.stubGlobal('Worker', Silent);
      await expect(next()).rejects.toThrow(/did not start[^]*data-worker\.js/);
      vi.stubGlobal('Worker', function () {
        throw new TypeError('TrustedScriptURL');
      });
      await expect(next()).rejects.toThrow(/starts no workers[^]*data-worker\.js/);
    } finally {
      vi.unstubAllGlobals();
      vi.restoreAllMocks();
    }
  });

  it('refuses what cannot work', () => {
    const later = { length: 2, get: async (i: number) => i };
    expect(() => [...new DataLoader(later)]).toThrow('for await');
    expect(() => new DataLoader(numbers(2), { batchSize: 0 })).toThrow('batchSize');
    expect(() => new DataLoader([1], { shuffle: true })).toThrow('order of its own');
    expect(() => new TensorDataset(tensor([1]), tensor([1, 2]))).toThrow('Size mismatch');
    expect(() => defaultCollate([{ a: 1 }, { b: 1 }])).toThrow('different keys');
    expect(() => defaultCollate([1, 'a'])).toThrow('different types');
  });
});
