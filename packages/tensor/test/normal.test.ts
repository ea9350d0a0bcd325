/** @file `normal` of tensors and numbers, `random_`, and new tensors like others: forms, dtypes and refusals of PyTorch 2.13. */
import { describe, expect, it } from 'vitest';
import {
  type DType,
  type Tensor,
  manualSeed,
  ones,
  randn,
  setRngState,
  getRngState,
  tensor,
  zeros,
} from '../src/index.js';
import { emptyStrided, iinfo, newEmptyStrided, newTensor, normal, random_ } from '../src/more.js';

const shown = (x: Tensor): unknown[] => [x.dtype, x.shape, x.strides, x.requiresGrad];

describe('normal', () => {
  it('takes tensors and numbers, with the dtypes of PyTorch', () => {
    const mean = ones([2, 1], { dtype: 'float64', requiresGrad: true });
    const std = ones([3]).mul(0.5);
    expect(shown(normal(mean, std))).toEqual(['float64', [2, 3], [3, 1], true]);
    expect(shown(normal(mean, 2))).toEqual(['float64', [2, 1], [1, 1], true]);
    expect(shown(normal(mean))).toEqual(['float64', [2, 1], [1, 1], true]);
    expect(shown(normal(1, std))).toEqual(['float32', [3], [1], false]);
    expect(shown(normal(1, 2, [2, 3]))).toEqual(['float32', [2, 3], [3, 1], false]);
    const options = { dtype: 'float16', requiresGrad: true } as const;
    expect(shown(normal(1, 2, [2], options))).toEqual(['float16', [2], [1], true]);
    expect(normal(ones([2]), ones([2], { dtype: 'int64' })).dtype).toBe('float32');
  });

  it('is the mean and as many deviations as standard normal numbers are', () => {
    const [mean, std] = [tensor([[1], [-2]]), tensor([0, 1, 10])];
    const state = getRngState();
    const drawn = normal(mean, std);
    setRngState(state);
    expect(drawn.toArray()).toEqual(randn([2, 3]).mul(std).add(mean).toArray());
    setRngState(state);
    expect(normal(-1, 2, [4]).toArray()).toEqual(
      (setRngState(state), randn([4]).mul(2).add(-1)).toArray(),
    );
  });

  it('has gradients of zero', () => {
    const [mean, std] = [zeros([2], { requiresGrad: true }), ones([2]).requiresGrad_()];
    normal(mean, std).sum().backward();
    expect([mean.grad!.toArray(), std.grad!.toArray()]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it.each<[string, () => unknown, string]>([
    ['no size', () => normal(1, 2, undefined as never), 'need a size'],
    [
      'a size beside tensors',
      () => (normal as (...args: readonly unknown[]) => unknown)(ones([2]), 1, [2]),
      'Leave the size out',
    ],
    ['integers', () => normal(ones([2], { dtype: 'int64' })), `"normal" not implemented`],
    ['a negative deviation', () => normal(0, -1, [2]), 'std >= 0.0, but found std -1'],
    ['another', () => normal(zeros([2]), -1), 'std >= 0.0, but found std -1'],
    ['others', () => normal(0, tensor([1, -1])), 'all elements of std >= 0.0'],
    ['other shapes', () => normal(ones([2]), ones([3])), 'must match the size of tensor b (3)'],
    ['text', () => normal('0' as never, 1, [2]), 'need a size'],
  ])('refuses %s', (_name, call, message) => {
    expect(call).toThrow(message);
  });
});

describe('random_', () => {
  const range = (dtype: DType, ...bounds: number[]): [number, number] => {
    const x = (random_ as (x: Tensor, ...bounds: number[]) => Tensor)(
      zeros([20_000], { dtype }),
      ...bounds,
    ).to('float64');
    return [Number(x.min().item()), Number(x.max().item())];
  };

  it('draws from to before to, in place', () => {
    manualSeed(0);
    const x = zeros([2, 3]).t();
    expect(random_(x, 5)).toBe(x);
    expect(range('int64', 3, 7)).toEqual([3, 6]);
    expect(range('float32', -2, 2)).toEqual([-2, 1]);
    expect(range('uint8', 0, 256)).toEqual([0, 255]);
    expect(range('bool')).toEqual([0, 1]);
    expect(range('uint8')).toEqual([0, 255]);
    expect(range('int8')).toEqual([0, 127]);
    expect(range('bfloat16')).toEqual([0, 256]);
  });

  it.each<[DType, number]>([
    ['int16', 2 ** 15],
    ['int32', 2 ** 31],
    ['int64', 2 ** 63],
    ['float16', 2 ** 11],
    ['float32', 2 ** 24],
    ['float64', 2 ** 53],
  ])('draws all that %s has from 0 on', (dtype, end) => {
    const [least, most] = range(dtype);
    expect(least / end).toBeLessThan(0.01);
    expect(most / end).toBeGreaterThan(0.99);
    expect(most).toBeLessThanOrEqual(end);
  });

  it('keeps all bits of int64', () => {
    const x = random_(zeros([2000], { dtype: 'int64' }));
    const values = [...(x.toTypedArray() as BigInt64Array)];
    for (let bit = 0n; bit < 63n; bit++) {
      const share = values.filter((value) => (value >> bit) & 1n).length / values.length;
      expect(Math.abs(share - 0.5)).toBeLessThan(0.1);
    }
    expect(values.every((value) => value >= 0n && value <= iinfo('int64').max)).toBe(true);
  });

  it.each<[string, () => unknown, string]>([
    ['an empty range', () => random_(zeros([3]), 5, 3), "'from' to be less than 'to'"],
    ['nothing', () => random_(zeros([3]), 0), 'got from=0 >= to=0'],
    ['too much', () => random_(zeros([3], { dtype: 'uint8' }), 0, 300), 'to - 1 is out of bounds'],
    ['too little', () => random_(zeros([3], { dtype: 'uint8' }), -1, 3), 'from is out of bounds'],
    ['more than bools', () => random_(zeros([3], { dtype: 'bool' }), 0, 3), 'to - 1 is out of'],
    ['parts', () => random_(zeros([3]), 0.5), 'whole numbers'],
    ['text', () => random_(zeros([3]), '3' as never), 'whole numbers'],
    ['a leaf', () => random_(zeros([3], { requiresGrad: true })), 'leaf Variable'],
  ])('refuses %s', (_name, call, message) => {
    expect(call).toThrow(message);
  });
});

describe('new tensors', () => {
  it('have strides that are given', () => {
    const x = emptyStrided([2, 3], [1, 2], { dtype: 'int32' });
    expect([x.dtype, x.strides, x.storage.nbytes]).toEqual(['int32', [1, 2], 24]);
    expect(emptyStrided([2, 3], [0, 1]).storage.nbytes).toBe(12);
    const y = newEmptyStrided(ones([1], { dtype: 'float64' }), [2, 3], [4, 1]);
    expect([y.dtype, y.strides, y.storage.nbytes]).toEqual(['float64', [4, 1], 56]);
    expect(emptyStrided([2], [1], { requiresGrad: true }).isLeaf).toBe(true);
  });

  it.each([
    [[2, 3], [1], 'dimensionality of sizes (2) must match dimensionality of strides (1)'],
    [[2, 3], [-1, 2], 'overflowed with sizes=[2, 3] and strides=[-1, 2]'],
    [[-2, 3], [1, 2], 'negative dimension -2'],
  ])('refuse sizes %o with strides %o', (size, stride, message) => {
    expect(() => emptyStrided(size, stride)).toThrow(message);
  });

  it('have the dtype of another', () => {
    expect(newTensor(ones([2], { dtype: 'float64' }), [1, 2]).dtype).toBe('float64');
    expect(newTensor(ones([2], { dtype: 'int64' }), [1.5, 2]).toArray()).toEqual([1, 2]);
    const options = { dtype: 'float32', requiresGrad: true } as const;
    const made = newTensor(ones([2], { dtype: 'int64' }), [1.5], options);
    expect([made.toArray(), made.requiresGrad]).toEqual([[1.5], true]);
  });
});
