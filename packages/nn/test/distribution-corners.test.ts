/**
 * @file Corners of distributions as PyTorch 2.13 has them: lists of values, expanded ones, what is refused.
 */
import { type Tensor, ones, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import * as D from '../src/distributions/index.js';
import { any, refusal } from './refusal.js';

const half = tensor(0.5);
const coins = tensor([0.3, 0.7]);
const shares = tensor([
  [0.1, 0.2, 0.3],
  [0.5, 0.3, 0.2],
]);

describe('all values', () => {
  it.each<[string, D.Distribution, Tensor['sizes'], Tensor['sizes'], number[]]>([
    ['Bernoulli', new D.Bernoulli({ probs: coins }), [2, 2], [2, 1], [0, 1]],
    ['Binomial', new D.Binomial({ totalCount: 2, probs: coins }), [3, 2], [3, 1], [0, 1, 2]],
    ['Categorical', new D.Categorical({ probs: shares }), [3, 2], [3, 1], [0, 1, 2]],
    [
      'OneHotCategorical',
      new D.OneHotCategorical({ probs: shares }),
      [3, 2, 3],
      [3, 1, 3],
      [1, 0, 0, 0, 1, 0, 0, 0, 1],
    ],
  ])('%s', (_name, p, all, each, values) => {
    expect(p.hasEnumerateSupport).toBe(true);
    expect(p.enumerateSupport().sizes).toEqual(all);
    const listed = p.enumerateSupport({ expand: false });
    expect(listed.sizes).toEqual(each);
    expect(Array.from(listed.flatten().toTypedArray() as Float32Array, Number)).toEqual(values);
    expect(p.logProb(p.enumerateSupport()).exp().sum(0).toArray()).toEqual([
      expect.closeTo(1, 5),
      expect.closeTo(1, 5),
    ]);
  });

  it('those of an independent distribution are its base’s only without dimensions of its own', () => {
    const base = new D.Bernoulli({ probs: coins });
    expect(new D.Independent(base, 0).enumerateSupport().sizes).toEqual([2, 2]);
    expect([0, 1].map((n) => new D.Independent(base, n).hasEnumerateSupport)).toEqual([
      true,
      false,
    ]);
    expect(refusal(() => new D.Independent(base, 1).enumerateSupport())).toBe(
      'Enumeration over cartesian product is not implemented',
    );
  });

  it('cannot be listed of numbers of trials that differ, nor of what is continuous', () => {
    const binomial = new D.Binomial({ totalCount: tensor([1, 2]), probs: coins });
    expect(refusal(() => binomial.enumerateSupport())).toBe(
      'Inhomogeneous total count not supported by `enumerate_support`.',
    );
    const normal = new D.Normal(0, 1);
    expect(normal.hasEnumerateSupport).toBe(false);
    expect(refusal(() => normal.enumerateSupport())).toContain('Normal has no enumerateSupport()');
  });
});

it('an independent distribution prints the one that it is made of', () => {
  const base = new D.Normal(zeros([2, 3]), ones([2, 3]));
  expect(String(new D.Independent(new D.Independent(base, 1), 1))).toBe(
    `Independent(Independent(${String(base)}, 1), 1)`,
  );
});

describe('expanded', () => {
  it('relaxed categories keep their temperature', () => {
    const p = new D.RelaxedOneHotCategorical(half, { probs: shares }).expand([2, 2]);
    const value = tensor([
      [0.2, 0.3, 0.5],
      [0.1, 0.1, 0.8],
    ]);
    const [first, second] = [-0.5881114, 0.00422478];
    expect(p.logProb(value).toArray()).toEqual([
      [expect.closeTo(first, 5), expect.closeTo(second, 5)],
      [expect.closeTo(first, 5), expect.closeTo(second, 5)],
    ]);
  });

  it('relaxed coins keep theirs', () => {
    const p = new D.RelaxedBernoulli(half, { probs: coins }).expand([3, 2]);
    expect(
      p
        .logProb(tensor([0.2, 0.9]))
        .select(0, 2)
        .toArray(),
    ).toEqual([expect.closeTo(-0.25279474, 5), expect.closeTo(0.31275558, 5)]);
  });
});

it('a logistic normal distribution has the place and width of its normal one', () => {
  const p = new D.LogisticNormal(tensor([0.5, 1]), tensor([2, 3]));
  expect([p.loc.toArray(), p.scale.toArray()]).toEqual([
    [0.5, 1],
    [2, 3],
  ]);
});

it('the values of relaxed categories sum to 1', () => {
  const p = new D.RelaxedOneHotCategorical(half, { probs: coins });
  expect(p.support.text).toBe('Simplex()');
  expect(refusal(() => p.logProb(tensor([0.5, 0.6])))).toContain('(Simplex())');
});

describe('refused', () => {
  it.each<[string, () => unknown, string]>([
    [
      'values of another batch',
      () => new D.Normal(zeros([2]), ones([2])).logProb(ones([3])),
      'Value is not broadcastable with batch_shape+event_shape: [3] vs [2].',
    ],
    [
      'values of another event',
      () => new D.Dirichlet(ones([3])).logProb(ones([2])),
      'The right-most size of value must match event_shape: [2] vs [3].',
    ],
    [
      'a number for a vector',
      () =>
        new D.MultivariateNormal(zeros([2]), {
          scaleTril: tensor([
            [1, 0],
            [0, 1],
          ]),
        }).logProb(tensor(1)),
      'The right-most size of value must match event_shape: [] vs [2].',
    ],
    [
      'probabilities that are all 0',
      () => new D.Categorical({ probs: zeros([2]) }),
      'Expected parameter probs (Tensor of shape [2]) of distribution Categorical to satisfy the constraint Simplex(), but found invalid values.',
    ],
    [
      'a relaxed probability above 1',
      () => new D.RelaxedBernoulli(half, { probs: tensor([1.5]) }),
      'Expected parameter probs (Tensor of shape [1]) of distribution LogitRelaxedBernoulli to satisfy the constraint Interval(lower_bound=0.0, upper_bound=1.0), but found invalid values.',
    ],
    [
      'a success that never comes',
      () => new D.Geometric({ probs: tensor([0]) }),
      'Expected parameter probs (Tensor of shape [1]) of distribution Geometric to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values.',
    ],
    [
      'numbers of draws that differ',
      () => new D.Multinomial({ totalCount: any(tensor([2, 3])), probs: ones([2]) }),
      'inhomogeneous total_count is not supported',
    ],
    [
      'a factor of other components',
      () => new D.LowRankMultivariateNormal(zeros([2]), ones([1, 1]), ones([2])),
      'covFactor must be a batch of matrices with shape 2 x m',
    ],
    [
      'a diagonal that is not positive',
      () => new D.LowRankMultivariateNormal(zeros([2]), ones([2, 1]), tensor([-1, 1])),
      'Expected parameter covDiag (Tensor of shape [2]) of distribution LowRankMultivariateNormal to satisfy the constraint IndependentConstraint(GreaterThan(lower_bound=0.0), 1), but found invalid values.',
    ],
  ])('%s', (_name, call, expected) => {
    expect(refusal(call)).toBe(expected);
  });
});

it('two Wishart distributions have the divergence that PyTorch finds from their natural parameters', () => {
  const wishart = (df: number, covariance: number[][]): D.Wishart =>
    new D.Wishart(tensor(df, { dtype: 'float64' }), {
      covarianceMatrix: tensor(covariance, { dtype: 'float64' }),
    });
  const p = wishart(4.5, [
    [2, 0.5],
    [0.5, 1],
  ]);
  const q = wishart(6, [
    [1, -0.2],
    [-0.2, 3],
  ]);
  expect(D.klDivergence(p, q).item()).toBeCloseTo(2.872038681207619, 12);
  expect(D.klDivergence(p, p).item()).toBeCloseTo(0, 12);
});
