/**
 * @file Comparing whole tensors, counting elements, conversions by name, diagonals in place: the mistakes and the
 * edges. Values are compared with PyTorch's in apps/oracle.
 */
import { describe, expect, it } from 'vitest';
import { arange, ones, tensor, zeros } from '../src/index.js';
import { gradientError, secondGradientError } from './support/gradient-check.js';
import { type Mistake, testMistakes } from './support/mistakes.js';

describe('equal and allclose', () => {
  it('are one truth value', () => {
    const x = tensor([1, 2, 3]);
    expect([x.equal(x.clone()), x.equal(x.add(1)), x.equal(ones([3, 1]))]).toEqual([
      true,
      false,
      false,
    ]);
    expect(zeros([0, 2]).equal(zeros([0, 2]))).toBe(true);
    expect(tensor([NaN]).equal(tensor([NaN]))).toBe(false);
    expect([x.allclose(x.add(1e-7)), x.allclose(x.add(1e-3))]).toEqual([true, false]);
    expect(x.allclose(x.add(1e-3), { atol: 1e-2 })).toBe(true);
    expect(tensor([NaN]).allclose(tensor([NaN]), { equalNan: true })).toBe(true);
  });
});

describe('conversions by name', () => {
  it('are those of to()', () => {
    const x = tensor([0, 1.5]);
    const names = [
      x.float(),
      x.double(),
      x.half(),
      x.bfloat16(),
      x.long(),
      x.int(),
      x.short(),
      x.char(),
      x.byte(),
      x.bool(),
    ].map((y) => y.dtype);
    expect(names).toEqual([
      'float32',
      'float64',
      'float16',
      'bfloat16',
      'int64',
      'int32',
      'int16',
      'int8',
      'uint8',
      'bool',
    ]);
    expect(x.float()).toBe(x);
    expect(x.bool().toArray()).toEqual([false, true]);
  });
});

describe('histogram', () => {
  it('of equal elements is one wide', () => {
    const [counts, edges] = tensor([2, 2], { dtype: 'float64' }).histogram(4);
    expect(counts.toArray()).toEqual([0, 0, 2, 0]);
    expect(edges.toArray()).toEqual([1.5, 1.75, 2, 2.25, 2.5]);
  });

  // PyTorch 2.13 computes the bins of float32 in float32: 0.7 of it is the lower end of a bin.
  it.each(['histc', 'histogram'] as const)(
    '%s rounds as the dtype does at the ends of bins',
    (name) => {
      const count = (dtype: 'float32' | 'float64'): unknown => {
        const x = tensor([0.7, 0.35], { dtype: 'float32' }).to(dtype);
        const bins = { bins: 10, min: 0, max: 1 };
        return (name === 'histc' ? x.histc(bins) : x.histogram(10, { range: [0, 1] })[0]).toArray();
      };
      expect(count('float32')).toEqual([0, 0, 0, 1, 0, 0, 0, 1, 0, 0]);
      expect(count('float64')).toEqual([0, 0, 0, 1, 0, 0, 1, 0, 0, 0]);
    },
  );
});

describe('running log-sum-exp', () => {
  it('has first and second derivatives', () => {
    const x = arange(0, 6, 1, { dtype: 'float64' }).sin().view([2, 3]);
    expect(gradientError((a) => a!.logcumsumexp(1), [x])).toBeLessThan(1e-7);
    expect(secondGradientError((a) => a!.logcumsumexp(1), [x])).toBeLessThan(1e-6);
  });
});

describe('a diagonal in place', () => {
  it('passes gradients everywhere else', () => {
    const x = ones([2, 2]).requiresGrad_();
    x.mul(3).fillDiagonal_(7).sum().backward();
    expect(x.grad!.toArray()).toEqual([
      [0, 3],
      [3, 0],
    ]);
  });
});

const long = { dtype: 'int64' } as const;
const mistakes: readonly Mistake[] = [
  [
    'histc of integers',
    () => ones([3], long).histc(),
    'dtype-unsupported',
    '"histogram_cpu" not implemented for \'int64\'',
  ],
  [
    'a range upside down',
    () => ones([3]).histc({ min: 3, max: 1 }),
    'invalid-argument',
    'max must be larger than min',
  ],
  [
    'an infinite range',
    () => tensor([1, Infinity]).histc(),
    'invalid-argument',
    'range of [1, Infinity] is not finite',
  ],
  ['no bins', () => ones([3]).histc({ bins: 0 }), 'invalid-argument', 'bins must be > 0'],
  [
    'edges in two dimensions',
    () => ones([3]).histogram(ones([2, 2])),
    'invalid-argument',
    'bins tensor should have one dimension',
  ],
  [
    'edges of another dtype',
    () => ones([3]).histogram(arange(3)),
    'dtype-mismatch',
    'should have the same dtype',
  ],
  [
    'weights of another shape',
    () => ones([3]).histogram(4, { weight: ones([2]) }),
    'shape-mismatch',
    'should have the same shape',
  ],
  ['floats counted', () => ones([3]).bincount(), 'dtype-unsupported', 'bincount_cpu'],
  [
    'negative numbers counted',
    () => tensor([-1], long).bincount(),
    'invalid-argument',
    'only supports 1-d non-negative integral inputs',
  ],
  [
    'a negative minlength',
    () => tensor([1], long).bincount({ minlength: -1 }),
    'invalid-argument',
    'minlength should be >= 0',
  ],
  [
    'too few weights',
    () => tensor([1, 2], long).bincount({ weights: ones([1]) }),
    'shape-mismatch',
    'weights should be 1-d',
  ],
  [
    'logcumsumexp of integers',
    () => ones([3], long).logcumsumexp(0),
    'dtype-unsupported',
    'logcumsumexp',
  ],
  ['a row', () => ones([3]).fillDiagonal_(1), 'invalid-dim', 'dimensions must larger than 1'],
  [
    'a box',
    () => ones([2, 3, 2]).fillDiagonal_(1),
    'shape-mismatch',
    'all dimensions of input must be of equal length',
  ],
];

testMistakes(mistakes);
