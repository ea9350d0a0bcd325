/**
 * @file Corners of operators as PyTorch 2.13 has them: NaN that wins, numbers that do not fit, elements written twice.
 */
import { describe, expect, it } from 'vitest';
import {
  type DType,
  type Tensor,
  all,
  any,
  arange,
  atan2,
  bucketize,
  full,
  gelu,
  grad,
  indexCopy,
  indexFill,
  maskedFill,
  nextafter,
  permute,
  renorm,
  searchsorted,
  tensor,
  zeros,
} from '../src/index.js';
import { vmap } from '../src/func/index.js';
import { fill_, rmsNorm, uniform_, zero_ } from '../src/internal.js';

function gradients(fn: (...xs: Tensor[]) => Tensor, ...values: Tensor[]): unknown[] {
  const inputs = values.map((value) => value.requiresGrad_());
  return grad([fn(...inputs).sum()], inputs).map((g) => g!.toArray());
}

function codeOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'none';
}

describe('gradients', () => {
  it('of the largest and smallest of all go to NaN', () => {
    expect(gradients((x) => x.max(), tensor([1, NaN, 3, NaN]))).toEqual([[0, 0.5, 0, 0.5]]);
    expect(gradients((x) => x.min(), tensor([1, NaN, 3]))).toEqual([[0, 1, 0]]);
    expect(gradients((x) => x.max(), tensor([2, 1, 2]))).toEqual([[0.5, 0, 0.5]]);
  });

  it.each<[string, (x: Tensor) => Tensor]>([
    ['prod', (x) => x.prod()],
    ['prod along a dimension', (x) => x.reshape([1, 4]).prod(1)],
    ['cumprod', (x) => x.cumprod(0).mul(tensor([1, 2, -1, 3], { dtype: 'float64' }))],
  ])('of gradients of %s are right where factors are zero', (_name, fn) => {
    for (const values of [
      [2, 0, 3, 4],
      [2, 3, 0, 0],
      [0, 0, 0, 2],
    ]) {
      const firstOf = (at: number[]): number[] => {
        const x = tensor(at, { dtype: 'float64', requiresGrad: true });
        return grad([fn(x).sum()], [x])[0]!.toArray() as number[];
      };
      const x = tensor(values, { dtype: 'float64', requiresGrad: true });
      const [first] = grad([fn(x).sum()], [x], { createGraph: true });
      expect(first!.toArray()).toEqual(firstOf(values));
      for (let i = 0; i < 4; i++) {
        const [second] = grad([first!.select(0, i)], [x], { retainGraph: true });
        // A product is linear in each factor: differences are exact.
        const numeric = values.map((_, j) => {
          const shifted = (by: number): number =>
            firstOf(values.map((v, k) => (k === j ? v + by : v)))[i]!;
          return (shifted(1) - shifted(-1)) / 2;
        });
        expect(second!.toArray()).toEqual(numeric);
      }
    }
  });

  it('of remainders need the dividend only for those of the divisor', () => {
    const x = (): Tensor => tensor([3, -5]);
    expect(
      gradients((a) => {
        const doubled = a.mul(2);
        const rest = doubled.fmod(4).add(doubled.remainder(4));
        doubled.zero_();
        return rest;
      }, x()),
    ).toEqual([[4, 4]]);
    expect(gradients((a, b) => a.fmod(b), x(), tensor([2, 2]))).toEqual([
      [1, 1],
      [-1, 2],
    ]);
  });

  it('of a source that is larger than the index of a scatter are 0 outside', () => {
    const at = tensor([[1n, 0n]]);
    const source = (): Tensor => tensor([1, 2, 3, 4, 5, 6]).reshape([2, 3]);
    const under = [
      [1, 1, 0],
      [0, 0, 0],
    ];
    const self = (): Tensor => zeros([2, 3]);
    expect(gradients((x) => self().scatterAdd(0, at, x), source())).toEqual([under]);
    expect(gradients((x) => self().scatter(0, at, x), source())).toEqual([under]);
    expect(gradients((x) => self().scatterAdd_(0, at, x), source())).toEqual([under]);
    for (const reduce of ['sum', 'amax', 'mean'] as const)
      expect(
        gradients((x) => self().scatterReduce(0, at, x, reduce, { includeSelf: false }), source()),
      ).toEqual([under]);
  });

  it('of the largest of each example go to its winners', () => {
    const rows = tensor([
      [1, 3],
      [4, 4],
    ]);
    const each = (x: Tensor): Tensor => vmap((row: Tensor) => row.max())(x) as Tensor;
    expect(each(rows).toArray()).toEqual([3, 4]);
  });

  it('of nextafter go to where the step starts', () => {
    expect(gradients(nextafter, tensor([1, 2, 3]), tensor([2, 1, 3]))).toEqual([
      [1, 1, 0],
      [0, 0, 0],
    ]);
  });

  it('of atan2 are zero at the origin and where squares leave float16', () => {
    const values = (dtype: DType): Tensor => tensor([300, 1e-4, 0], { dtype });
    const [y, x] = gradients(atan2, values('float16'), values('float16')) as [number[], number[]];
    expect(y).toEqual([0, 0, 0]);
    expect(x.map(Math.abs)).toEqual([0, 0, 0]);
  });
});

describe('numbers that do not fit', () => {
  it.each([
    ['int8', 300],
    ['int8', -129],
    ['uint8', 256],
    ['uint8', -256],
    ['int32', 2 ** 40],
    ['float16', 1e6],
    ['float32', 1e39],
  ] as const)('%s refuses %d', (dtype, value) => {
    expect(codeOf(() => fill_(zeros([2], { dtype }), value))).toBe('invalid-argument');
    expect(codeOf(() => full([2], value, { dtype }))).toBe('invalid-argument');
    const mask = tensor([true, false]);
    expect(codeOf(() => maskedFill(zeros([2], { dtype }), mask, value))).toBe('invalid-argument');
  });

  it.each([
    ['int8', 3.7, 3],
    ['int8', -128, -128],
    ['uint8', -200, 56],
    ['float16', 65504, 65504],
    ['float16', -Infinity, -Infinity],
    ['bool', 3, true],
  ] as const)('%s takes %d', (dtype, value, held) => {
    expect(full([1], value, { dtype }).toArray()).toEqual([held]);
  });
});

describe('expanded tensors', () => {
  it('are filled', () => {
    const one = zeros([1]);
    fill_(one.expand([3]), 2);
    expect(one.toArray()).toEqual([2]);
    zero_(one.expand([3]));
    expect(one.toArray()).toEqual([0]);
  });

  it('take nothing that differs', () => {
    const expanded = zeros([1]).expand([3]);
    for (const write of [() => uniform_(expanded), () => fill_(expanded, tensor(2))])
      expect(codeOf(write)).toBe('inplace-overlap');
  });
});

describe('any and all', () => {
  const x = tensor([
    [0, 1],
    [0, 0],
  ]);

  it('over no dimensions test each element', () => {
    const each = [
      [false, true],
      [false, false],
    ];
    expect(any(x, []).toArray()).toEqual(each);
    expect(all(x, [], { keepdim: true }).toArray()).toEqual(each);
    expect(any(tensor(2), []).toArray()).toBe(true);
  });

  it('over several dimensions', () => {
    const cube = arange(8).reshape([2, 2, 2]);
    expect(any(cube, [0, -1]).toArray()).toEqual([true, true]);
    expect(all(cube, [0, 2], { keepdim: true }).toArray()).toEqual([[[false], [true]]]);
    expect(all(x, null, { keepdim: true }).toArray()).toEqual([[false]]);
    expect(any(tensor(2), null, { keepdim: true }).toArray()).toBe(true);
    expect(codeOf(() => any(cube, [0, 0]))).toBe('invalid-dim');
  });
});

it('indices of int32 are refused where PyTorch refuses them', () => {
  const index = tensor([1], { dtype: 'int32' });
  expect(codeOf(() => indexFill(zeros([3]), 0, index, 2))).toBe('dtype-mismatch');
  expect(codeOf(() => indexCopy(zeros([3]), 0, index, zeros([1])))).toBe('dtype-mismatch');
});

it('an unknown approximation of gelu is refused', () => {
  const options = { approximate: 'erf' } as never;
  expect(codeOf(() => gelu(zeros([1]), options))).toBe('invalid-argument');
});

it('searching compares in the common dtype', () => {
  const narrow = tensor([0.1]);
  const wide = tensor([0.1], { dtype: 'float64' });
  expect(searchsorted(narrow, wide, { right: true }).toArray()).toEqual([0]);
  expect(searchsorted(wide, narrow).toArray()).toEqual([1]);
  expect(bucketize(tensor([1.5, 2.5]), tensor([1, 2, 3], { dtype: 'int64' })).toArray()).toEqual([
    1, 2,
  ]);
});

it('results of rmsNorm and renorm are contiguous', () => {
  const x = permute(zeros([2, 3, 4]), [2, 0, 1]);
  expect(rmsNorm(x, [3]).strides).toEqual([6, 3, 1]);
  expect(renorm(x, 2, 0, 1).strides).toEqual([6, 3, 1]);
});
