/**
 * @file Scatters that put one source after another: beside the reference kernels, and PyTorch's numbers where those
 * depend on the order or on where a sum is rounded.
 */
import * as T from '@tessera/tensor';
import { functional as F } from '@tessera/nn';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';
import { sampleName, sampled } from '../../../tooling/full-tests.js';

type Dtype = T.DType;
const FLOATS: readonly Dtype[] = ['float32', 'float64', 'float16', 'bfloat16'];
const DTYPES: readonly Dtype[] = [...FLOATS, 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool'];
/** Sums are rounded once by the reference kernels, at each step by PyTorch and here. */
const TOLERANCE: Readonly<Partial<Record<Dtype, number>>> = {
  float32: 1e-4,
  float64: 1e-12,
  float16: 0.03,
  bfloat16: 0.2,
};

function numbers(x: T.Tensor): number[] {
  return x.to('float64').reshape([-1]).toArray() as number[];
}

function same(name: string, run: () => T.Tensor): void {
  const wanted = config.patch({ 'eager.kernels': 'reference' }, run);
  const exact = numbers(wanted);
  for (const got of [run(), compile(run)()]) {
    expect([got.dtype, got.sizes], name).toEqual([wanted.dtype, wanted.sizes]);
    const errors = numbers(got).map((x, i) => Math.abs(x - exact[i]!) / (1 + Math.abs(exact[i]!)));
    expect(Math.max(...errors), name).toBeLessThanOrEqual(TOLERANCE[got.dtype] ?? 0);
  }
}

function some(sizes: readonly number[], dtype: Dtype): T.Tensor {
  if (FLOATS.includes(dtype)) return T.randn([...sizes]).to(dtype);
  return T.randint(dtype === 'bool' ? 0 : -5, dtype === 'bool' ? 2 : 6, [...sizes]).to(dtype);
}

/** Self, sources, dimension: along memory, across it, one dimension, a part of self, very few columns. */
const SHAPES: readonly (readonly [self: number[], from: number[], dim: number])[] = [
  [[30, 50], [200, 50], 0],
  [[40, 30], [40, 133], 1],
  [[700], [900], 0],
  [[5, 7, 33], [4, 7, 100], 2],
  [[600, 3], [1300, 1], 0],
];

beforeAll(() => {
  T.manualSeed(7);
});

describe.each(sampled(DTYPES, 2))(`of %s (${sampleName})`, (dtype) => {
  it.each(SHAPES)('%j from %j along %i are those of the reference kernels', (self, from, dim) => {
    const [x, s] = [some(self, dtype), some(from, dtype)];
    const size = self[dim]!;
    const i = T.randint(0, size, [...from]);
    const repeated = i.narrow(dim, 0, 1).expand([...from]);
    same('scatter_add', () => x.scatterAdd(dim, i, s));
    same('scatter_add to one place', () => x.scatterAdd(dim, repeated, s));
    same('scatter', () => x.scatter(dim, i, s));
    same('scatter to one place', () => x.scatter(dim, repeated, s));
    same('scatter of a number', () => x.scatter(dim, i, 1));
    const rows = self.map((size, d) => (d === dim ? 100 : size));
    const named = T.randint(0, size, [100]);
    const w = some(rows, dtype);
    same('index_add', () => x.indexAdd(dim, named, w));
    same('index_copy', () => x.indexCopy(dim, named, w));
    const indices = [...new Array<null>(dim).fill(null), named.sub(size)];
    same('index_put', () => x.indexPut(indices, w));
    same('index_put of one row', () => x.indexPut(indices, w.narrow(dim, 0, 1)));
    same('index_put that adds', () => x.indexPut(indices, w, { accumulate: true }));
    const all = self.map((each) => named.remainder(each));
    same('index_put at every coordinate', () => x.indexPut(all, some([100], dtype).fill_(1)));
  });

  it.skipIf(dtype === 'bool')('reductions are those of the reference kernels', () => {
    for (const [self, from, dim] of SHAPES.slice(0, 3)) {
      const [x, s] = [some(self, dtype), some(from, dtype)];
      const i = T.randint(0, self[dim]!, [...from]);
      for (const reduce of ['sum', 'prod', 'amax', 'amin', 'mean'] as const)
        for (const includeSelf of [true, false])
          same(reduce, () => x.scatterReduce(dim, i, s, reduce, { includeSelf }));
    }
  });
});

describe('bags that begin at offsets', () => {
  const table = T.randn([90, 37]);
  const turned = T.randn([37, 90]).t();
  const ids = T.randint(0, 90, [700]);
  // Empty bags, first ones, last ones and such between others.
  const starts = [0, 0, 0, ...Array.from({ length: 40 }, (_, b) => 13 * b + 5), 525, 525, 700, 700];
  const offsets = T.tensor(starts, { dtype: 'int64' });

  it.each(['sum', 'mean', 'max'] as const)('%s is that of the reference kernel', (mode) => {
    for (const options of [{}, { paddingIdx: 3 }, { includeLastOffset: true }]) {
      same('bag', () => F.embeddingBag(ids, table, { ...options, mode, offsets }));
      same('turned table', () => F.embeddingBag(ids, turned, { ...options, mode, offsets }));
    }
    same('int32', () =>
      F.embeddingBag(ids.to('int32'), table, { mode, offsets: offsets.to('int32') }),
    );
    same('one index in no bag but the last', () =>
      F.embeddingBag(ids.narrow(0, 0, 1), table, { mode, offsets: offsets.clamp(0, 1) }),
    );
  });

  it('weights of samples are factors', () => {
    const perSampleWeights = T.randn([700]);
    same('weights', () =>
      F.embeddingBag(ids, table, { mode: 'sum', offsets, perSampleWeights, paddingIdx: 3 }),
    );
  });

  it('offsets and indices that are no places are refused', () => {
    const refused = (at: T.Tensor, from: T.Tensor): void => {
      for (const run of [
        () => F.embeddingBag(at, table, { offsets: from }),
        compile(() => F.embeddingBag(at, table, { offsets: from })),
      ])
        expect(() => run().toArray()).toThrow(
          expect.objectContaining({ code: 'index-out-of-range' }),
        );
    };
    refused(ids, offsets.add(1));
    refused(ids, T.tensor([...starts, 701], { dtype: 'int64' }));
    refused(ids, T.tensor([...starts, -1], { dtype: 'int64' }));
    refused(ids.add(90), offsets);
    refused(ids.neg().sub(1), offsets);
  });
});

it('of embeddings, bags and grids the gradients are those of the reference kernels', () => {
  const ids = T.randint(0, 90, [12, 40]).mul(T.randint(0, 2, [12, 40]));
  const gradient = (leaf: T.Tensor, loss: (x: T.Tensor) => T.Tensor) => (): T.Tensor => {
    const x = leaf.detach().clone().requiresGrad_();
    loss(x).square().sum().backward();
    return x.grad!;
  };
  const table = T.randn([90, 37]);
  const scales = T.randn([12, 40]);
  for (const options of [{}, { paddingIdx: 3 }]) {
    same(
      'embedding',
      gradient(table, (x) => F.embedding(ids, x, options)),
    );
    for (const mode of ['sum', 'mean', 'max'] as const) {
      same('bag', () => F.embeddingBag(ids, table, { ...options, mode }));
      same(
        'bag',
        gradient(table, (x) => F.embeddingBag(ids, x, { ...options, mode })),
      );
    }
    const scaled = { ...options, mode: 'sum', perSampleWeights: scales } as const;
    same(
      'bag',
      gradient(table, (x) => F.embeddingBag(ids, x, scaled)),
    );
  }
  const [image, grid] = [T.randn([2, 3, 23, 17]), T.randn([2, 20, 30, 2])];
  for (const mode of ['bilinear', 'nearest', 'bicubic'] as const)
    for (const paddingMode of ['zeros', 'border', 'reflection'] as const)
      same(
        mode,
        gradient(image, (x) => F.gridSample(x, grid, { mode, paddingMode })),
      );
  const [volume, points] = [T.randn([2, 3, 5, 7, 6]), T.randn([2, 9, 10, 11, 3])];
  same(
    'volumes',
    gradient(volume, (x) => F.gridSample(x, points)),
  );
});

it('halves are rounded where PyTorch rounds them', () => {
  const ones = T.ones([4096], { dtype: 'float16' });
  const none = T.zeros([600], { dtype: 'float16' });
  const at = T.zeros([4096], { dtype: 'int64' });
  const first = (run: () => T.Tensor): number[] =>
    [run(), compile(run)()].map((x) => numbers(x)[0]!);
  expect(first(() => none.scatterAdd(0, at, ones))).toEqual([4096, 4096]);
  expect(first(() => none.scatterReduce(0, at, ones, 'sum'))).toEqual([4096, 4096]);
  expect(first(() => none.indexAdd(0, at, ones))).toEqual([2048, 2048]);
  expect(first(() => none.indexPut([at], ones, { accumulate: true }))).toEqual([2048, 2048]);
});

it('totals of integers and their counts wrap before they are divided, as in PyTorch', () => {
  const mean = (x: number, count: number): (() => T.Tensor) => {
    const source = T.full([count], x, { dtype: 'uint8' });
    const at = T.zeros([count], { dtype: 'int64' });
    return () => T.zeros([3], { dtype: 'uint8' }).scatterReduce(0, at, source, 'mean');
  };
  for (const count of [2, 3000])
    for (const run of [mean(200, count), compile(mean(200, count))])
      expect(numbers(run())[0]).toBe(Math.floor(((200 * count) % 256) / ((count + 1) % 256)));
});

it('refuse an index that is out of range', () => {
  const x = T.zeros([30, 50]);
  const at = T.full([100], 30, { dtype: 'int64' });
  for (const run of [
    () => x.indexAdd(0, at, T.ones([100, 50])),
    () => x.scatterAdd(0, at.unsqueeze(1).expand([100, 50]), T.ones([100, 50])),
    () => x.indexPut([at.neg().sub(1)], T.ones([100, 50])),
  ])
    for (const call of [run, compile(run)])
      expect(call).toThrowError(expect.objectContaining({ code: 'index-out-of-range' }) as Error);
});

it('scatters into the result of another, and reads what was there before', () => {
  const x = T.randn([20, 30]);
  const i = T.randint(0, 20, [200]);
  const w = T.randn([200, 30]);
  const run = (): T.Tensor => {
    const once = x.relu().indexAdd(0, i, w);
    const twice = once.mul(2).indexAdd(0, i.flip([0]), w.sin());
    return T.cat([once, twice.exp(), twice.indexCopy(0, i, w).sub(once)]);
  };
  same('chain', run);
});
