/**
 * @file Choosing, counting and writing by index: behaviour at the edges, in-place forms, errors.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  baddbmm,
  bucketize,
  grad,
  maskedSelect,
  noGrad,
  ones,
  outer,
  searchsorted,
  tensor,
  trapezoid,
  unique,
  zeros,
} from '../src/index.js';
import { avgPool2d, embeddingBag, fakeFromMeta } from '../src/internal.js';

const long = (...data: number[]): Tensor => tensor(data, { dtype: 'int64' });
const arrays = (tensors: readonly Tensor[]): unknown[] => tensors.map((t) => t.toArray());

describe('order', () => {
  it('puts NaN last, unless the median meets it', () => {
    const x = tensor([3, Number.NaN, 1, 2]);
    expect(x.median().item()).toBeNaN();
    expect(x.nanmedian().item()).toBe(2);
    expect(x.kthvalue(4)[1].item()).toBe(1);
    expect(x.median(0)[1].item()).toBe(1);
  });

  it('names the smallest of the most common values', () => {
    expect(arrays(tensor([3, 1, 3, 1, 2]).mode())).toEqual([1, 3]);
  });

  it('lists distinct values, where they went and how many there were', () => {
    const x = long(3, 1, 3, 2);
    expect(unique(x).toArray()).toEqual([1, 2, 3]);
    expect(arrays(x.unique({ returnInverse: true, returnCounts: true }))).toEqual([
      [1, 2, 3],
      [2, 0, 2, 1],
      [1, 1, 2],
    ]);
    const rows = tensor([
      [1, 2],
      [0, 5],
      [1, 2],
    ]);
    expect(rows.unique({ dim: 0 }).toArray()).toEqual([
      [0, 5],
      [1, 2],
    ]);
    expect(long(1, 1, 2, 1).uniqueConsecutive().toArray()).toEqual([1, 2, 1]);
  });

  it('searches from the left or the right of equal elements, by rows', () => {
    const sorted = tensor([
      [1, 3, 5],
      [2, 4, 4],
    ]);
    const at = tensor([
      [3, 0],
      [4, 9],
    ]);
    expect(searchsorted(sorted, at).toArray()).toEqual([
      [1, 0],
      [1, 3],
    ]);
    expect(searchsorted(sorted, at, { side: 'right' }).toArray()).toEqual([
      [2, 0],
      [3, 3],
    ]);
    expect(bucketize(3, tensor([1, 3]), { outInt32: true }).item()).toBe(1);
    expect(bucketize(tensor([Number.NaN]), tensor([1, 3])).toArray()).toEqual([2]);
  });

  it('interpolates quantiles', () => {
    const x = tensor([4, 1, 3, 2]);
    expect(x.quantile(tensor([0, 0.5, 1])).toArray()).toEqual([1, 2.5, 4]);
    expect(x.quantile(0.5, { interpolation: 'lower' }).item()).toBe(2);
    expect(tensor([1, Number.NaN, 3]).quantile(0.5).item()).toBeNaN();
    expect(tensor([1, Number.NaN, 3]).nanquantile(0.5).item()).toBe(2);
  });
});

describe('writing by index', () => {
  it('wraps integers and rounds halves at every step', () => {
    const bytes = tensor([250, 1], { dtype: 'uint8' });
    const added = bytes.scatterReduce(0, long(0, 0), tensor([4, 4], { dtype: 'uint8' }), 'sum');
    expect(added.toArray()).toEqual([2, 1]);
    const mean = long(0, 7).scatterReduce(0, long(1, 1), long(-8, 2), 'mean', {
      includeSelf: false,
    });
    expect(mean.toArray()).toEqual([0, -3]);
  });

  it('has in-place forms that write into views', () => {
    const x = zeros([2, 3]);
    const column = x.select(1, 1);
    column.indexFill_(0, long(1), 5);
    x.put_(long(0), tensor([7]));
    x.maskedScatter_(tensor([false, false, true]), tensor([8, 9]));
    expect(x.toArray()).toEqual([
      [7, 0, 8],
      [0, 5, 9],
    ]);
    x.indexCopy_(1, long(0), ones([2, 1]));
    x.indexReduce_(0, long(0, 0), ones([2, 3]).mul(3), 'amax');
    x.cumprod_(1);
    expect(x.toArray()).toEqual([
      [3, 9, 72],
      [1, 5, 45],
    ]);
  });

  it('in place, on a leaf that wants gradients, is refused', () => {
    const leaf = zeros([2]).requiresGrad_();
    expect(() => leaf.indexFill_(0, long(1), 5)).toThrow(/leaf/);
    expect(noGrad(() => leaf.indexFill_(0, long(1), 5)).toArray()).toEqual([0, 5]);
  });

  it('gives filled slices no gradient and the value the sum of theirs', () => {
    const x = zeros([2, 3]).requiresGrad_();
    const value = tensor(2).requiresGrad_();
    const [gx, gv] = grad([x.indexFill(1, long(0, 0), value).sum()], [x, value]);
    expect(gx!.toArray()).toEqual([
      [0, 1, 1],
      [0, 1, 1],
    ]);
    expect(gv!.item()).toBe(2);
  });
});

it('data-dependent ops say so on FakeTensors', () => {
  const fake = fakeFromMeta({ sizes: [3], strides: [1], dtype: 'float32', device: 'cpu' });
  expect(() => unique(fake)).toThrow(/has no meta rule/);
  expect(fake.nonzeroStatic({ size: 2 }).sizes).toEqual([2, 1]);
});

const refused: [what: string, call: () => unknown, code: string][] = [
  ['a rank beyond the row', () => ones([3]).kthvalue(4), 'invalid-argument'],
  ['the mode of nothing', () => ones([0]).mode(), 'shape-mismatch'],
  ['the order of bools', () => tensor([true]).median(), 'dtype-unsupported'],
  ['a share above 1', () => ones([3]).quantile(1.5), 'invalid-argument'],
  ['quantiles of integers', () => long(1, 2).quantile(0.5), 'dtype-unsupported'],
  ['nanmean of integers', () => long(1).nanmean(), 'dtype-unsupported'],
  ['a slice that does not fit', () => ones([3]).indexCopy(0, long(1), ones([2])), 'shape-mismatch'],
  [
    'a slice that is not there',
    () => ones([3]).indexCopy(0, long(-1), ones([1])),
    'index-out-of-range',
  ],
  ['slices of another dtype', () => ones([3]).indexCopy(0, long(1), long(2)), 'dtype-mismatch'],
  [
    'an unknown reduction',
    () => ones([3]).scatterReduce(0, long(1), ones([1]), 'max' as never),
    'invalid-argument',
  ],
  [
    'too short a source',
    () => ones([3]).maskedScatter(ones([3]).gt(0), ones([2])),
    'index-out-of-range',
  ],
  [
    'adding slices that would be broadcast',
    () => ones([3, 2]).indexAdd(0, long(0, 2), ones([2])),
    'shape-mismatch',
  ],
  [
    'reducing slices of another shape',
    () => tensor(1).indexReduce(0, long(0), ones([1]), 'prod'),
    'shape-mismatch',
  ],
  ['scattering another dtype', () => ones([3]).scatter(0, long(1), long(2)), 'dtype-mismatch'],
  ['adding another dtype', () => ones([3]).scatterAdd(0, long(1), long(2)), 'dtype-mismatch'],
  ['selecting by numbers', () => maskedSelect(ones([3]), ones([3])), 'dtype-mismatch'],
  ['an outer product of matrices', () => outer(ones([2]), ones([2, 2])), 'shape-mismatch'],
  [
    'a mean divided by 0',
    () => avgPool2d(ones([1, 2, 2]), 2, { divisorOverride: 0 }),
    'invalid-argument',
  ],
  [
    'products added to another dtype',
    () =>
      baddbmm(
        ones([1]),
        ones([1, 1, 1], { dtype: 'float64' }),
        ones([1, 1, 1], { dtype: 'float64' }),
      ),
    'dtype-mismatch',
  ],
  ['a mask of numbers', () => ones([3]).maskedScatter(ones([3]), ones([3])), 'dtype-mismatch'],
  [
    'a 32-bit index to take',
    () => ones([3]).take(tensor([1], { dtype: 'int32' })),
    'dtype-mismatch',
  ],
  ['taking from nothing', () => ones([0]).take(long(0)), 'index-out-of-range'],
  [
    'opposite sides',
    () => searchsorted(ones([2]), ones([1]), { right: true, side: 'left' }),
    'invalid-argument',
  ],
  ['slices without elements', () => unique(ones([2, 0]), { dim: 0 }), 'shape-mismatch'],
  ['points that miss samples', () => trapezoid(ones([3]), { x: ones([2]) }), 'shape-mismatch'],
  ['bools to integrate', () => trapezoid(tensor([true, false])), 'dtype-unsupported'],
  [
    'weights of samples in a mean',
    () => embeddingBag(ones([2, 2]), long(0), long(0), { perSampleWeights: ones([1]) }),
    'invalid-argument',
  ],
  [
    'bags that begin late',
    () => embeddingBag(ones([2, 2]), long(0), long(1)),
    'index-out-of-range',
  ],
];

describe('refuses', () => {
  it.each(refused)('%s', (_what, call, code) => {
    let caught: unknown;
    try {
      call();
    } catch (error) {
      caught = error;
    }
    expect(isTesseraError(caught) ? caught.code : caught).toBe(code);
  });
});

it('takes an empty index of any type: nothing is picked or written', () => {
  const x = tensor([1, 2, 3]);
  const none = zeros([2, 0], { dtype: 'uint8' });
  expect(x.gather(0, none).shape).toEqual([2, 0]);
  expect(x.scatterAdd(0, none, zeros([2, 0])).toArray()).toEqual([1, 2, 3]);
});
