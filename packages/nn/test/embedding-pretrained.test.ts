/** @file Embeddings over a table that there is already; the numbers are PyTorch's. */
import { arange, getRngState, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Embedding, EmbeddingBag } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

const table = arange(12, { dtype: 'float32' }).view([4, 3]);
const ints = { dtype: 'int64' } as const;

describe('EmbeddingBag.fromPretrained', () => {
  it('combines rows of the table, which does not train', () => {
    const bag = EmbeddingBag.fromPretrained(table, { mode: 'sum', paddingIdx: 0 });
    expect(String(bag)).toBe("EmbeddingBag(4, 3, mode='sum', padding_idx=0)");
    expect([bag.weight.requiresGrad, bag.weight.dataPtr()]).toEqual([false, table.dataPtr()]);
    const bags = tensor(
      [
        [0, 1, 2],
        [3, 3, 0],
      ],
      ints,
    );
    const want = [
      [9, 11, 13],
      [18, 20, 22],
    ];
    expect(bag.call(bags).toArray()).toEqual(want);
    const { call } = compileForTest((x: typeof bags) => bag.call(x));
    expect(call(bags).toArray()).toEqual(want);
  });

  it('trains it if asked to', () => {
    const options = { freeze: false, mode: 'max', includeLastOffset: true } as const;
    const bag = EmbeddingBag.fromPretrained(table, options);
    const y = bag.call(tensor([0, 1, 2, 3], ints), tensor([0, 2, 4], ints));
    expect(y.toArray()).toEqual([
      [3, 4, 5],
      [9, 10, 11],
    ]);
    y.sum().backward();
    expect(bag.weight.grad!.sum(1).toArray()).toEqual([0, 3, 0, 3]);
  });
});

describe.each([
  ['Embedding', Embedding],
  ['EmbeddingBag', EmbeddingBag],
] as const)('%s.fromPretrained', (name, Class) => {
  it('draws nothing and keeps the dtype of the table', () => {
    const state = getRngState();
    const module = Class.fromPretrained(table.to('float64'));
    expect(getRngState()).toEqual(state);
    expect(module.weight.dtype).toBe('float64');
  });

  it('refuses what is no table and no option', () => {
    expect(() => Class.fromPretrained(ones([3]))).toThrow(
      'Embeddings parameter is expected to be 2-dimensional',
    );
    expect(() => Class.fromPretrained(table, false as never)).toThrow('options are an object');
    expect(() => Class.fromPretrained(table, { dtype: 'float16' } as never)).toThrow(
      `${name}.fromPretrained has no option 'dtype'`,
    );
    expect(() => Class.fromPretrained(table, { paddingIdx: 9 })).toThrow('paddingIdx 9');
  });
});
