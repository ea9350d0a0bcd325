/**
 * @file `CatTransform`, `StackTransform`, corners of `Independent` and enumeration, as PyTorch 2.13 has them.
 */
import { type Tensor, manualSeed, ones, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import * as D from '../src/distributions/index.js';
import { compileForTest } from './compile-for-test.js';

const x = tensor([
  [0.5, -1, 2],
  [1, 0.25, -0.5],
]);
const close = (actual: Tensor, wanted: unknown): void =>
  expect(actual.allclose(tensor(wanted as number[]), { rtol: 1e-5, atol: 1e-6 })).toBe(true);
const [exp, affine, log2] = [new D.ExpTransform(), new D.AffineTransform(1, -2), Math.LN2];

describe('CatTransform', () => {
  const t = new D.CatTransform([exp, affine], { dim: 1, lengths: [1, 2] });

  it('transforms the parts of a dimension', () => {
    const y = t.call(x);
    close(y, [
      [1.6487212, 3, -3],
      [2.7182817, 0.5, 2],
    ]);
    close(t.invert(y), x.toArray());
    close(t.logAbsDetJacobian(x, y), [
      [0.5, log2, log2],
      [1, log2, log2],
    ]);
    expect([t.bijective, t.length, t.domain.text, t.domain.eventDim]).toEqual([
      true,
      3,
      'Cat()',
      0,
    ]);
    expect(t.codomain.check(y.abs().neg()).toArray()).toEqual([
      [false, true, true],
      [false, true, true],
    ]);
    const rows = new D.CatTransform([exp, affine]);
    close(rows.call(x), [
      [1.6487212, 0.36787945, 7.389056],
      [-1, 0.5, 2],
    ]);
    close(rows.logAbsDetJacobian(x, rows.call(x)), [
      [0.5, -1, 2],
      [log2, log2, log2],
    ]);
  });

  it('adds up where the dimension belongs to the event, and joins where not', () => {
    const event = new D.AffineTransform(0, 3, { eventDim: 1 });
    const last = new D.CatTransform([event, exp], { dim: -1, lengths: [2, 1] });
    close(last.call(x), [
      [1.5, -3, 7.389056],
      [3, 0.75, 0.60653067],
    ]);
    close(last.logAbsDetJacobian(x, last.call(x)), [4.1972246, 1.6972246]);
    const first = new D.CatTransform([event, exp]);
    close(first.logAbsDetJacobian(x, first.call(x)), [3.2958369, 0.75]);
  });

  it('is part of distributions, compiled too', () => {
    const make = (): D.TransformedDistribution =>
      new D.TransformedDistribution(new D.Normal(zeros([3]), ones([3])), [
        new D.CatTransform([exp, affine], { dim: -1, lengths: [1, 2] }),
      ]);
    const value = tensor([2, 0.5, 1]);
    const wanted = [-1.8523122, -1.6433357, -1.6120857];
    close(make().logProb(value), wanted);
    close(compileForTest((v: Tensor) => make().logProb(v)).call(value), wanted);
    expect(D.klDivergence(make(), make()).toArray()).toEqual([0, 0, 0]);
  });

  it('refuses what does not fit', () => {
    expect(() => t.call(ones([2, 4]))).toThrow('x.size(1) = 4 must equal length 3');
    expect(() => t.call(ones([3]))).toThrow('dim 1 out of range for x with 1 dimensions');
    expect(() => new D.CatTransform([exp], { lengths: [1, 2] })).toThrow(
      'lengths (2) must match transforms (1)',
    );
    expect(() => new D.CatTransform([1 as never])).toThrow('CatTransform is made of transforms.');
  });
});

describe('StackTransform', () => {
  const t = new D.StackTransform([exp, D.identityTransform(), new D.SigmoidTransform()], {
    dim: 1,
  });

  it('transforms the places of a dimension', () => {
    const y = t.call(x);
    close(y, [
      [1.6487212, -1, 0.88079703],
      [2.7182817, 0.25, 0.37754068],
    ]);
    close(t.invert(y), x.toArray());
    close(t.logAbsDetJacobian(x, y), [
      [0.5, 0, -2.2538562],
      [1, 0, -1.4481539],
    ]);
    expect([t.domain.text, t.domain.eventDim]).toEqual(['Stack()', 0]);
    expect(t.codomain.check(y).all().item()).toBe(1);
    const rows = new D.StackTransform([exp, new D.TanhTransform()], { dim: -2 });
    close(rows.call(x), [
      [1.6487212, 0.36787945, 7.389056],
      [0.7615942, 0.24491866, -0.46211717],
    ]);
    expect(rows.domain.eventDim).toBe(1);
    expect(t.equals(new D.StackTransform(t.transforms, { dim: 1 }))).toBe(true);
    expect(t.equals(new D.StackTransform(t.transforms))).toBe(false);
  });

  it('refuses what does not fit', () => {
    expect(() => t.call(ones([2, 4]))).toThrow('x.size(1) = 4 must equal len(transforms) 3');
  });
});

describe('Independent', () => {
  const base = new D.Normal(zeros([2, 3]), ones([2, 3]));

  it('of no dimension is its base, and may be nested', () => {
    const none = new D.Independent(base, 0);
    expect([none.batchShape, none.eventShape, none.support.text]).toEqual([[2, 3], [], 'Real()']);
    expect(none.logProb(ones([2, 3])).sizes).toEqual([2, 3]);
    const twice = new D.Independent(new D.Independent(base, 1), 1);
    expect([twice.batchShape, twice.eventShape]).toEqual([[], [2, 3]]);
    expect(twice.support.text).toBe('IndependentConstraint(IndependentConstraint(Real(), 1), 1)');
    close(twice.logProb(ones([2, 3])), -8.513630867004395);
    close(twice.entropy(), 8.513630867004395);
    expect(String(twice)).toMatch(/^Independent\(Independent\(Normal\(.*\), 1\), 1\)$/);
  });

  it('expands, and has what its base has', () => {
    const wide = new D.Independent(base, 1).expand([5, 2]);
    expect([wide.batchShape, wide.eventShape, wide.base.batchShape]).toEqual([
      [5, 2],
      [3],
      [5, 2, 3],
    ]);
    expect(wide.logProb(ones([2, 3])).sizes).toEqual([5, 2]);
    const joint = new D.Independent(new D.Poisson(ones([2])), 1);
    expect(joint.hasRsample).toBe(false);
    expect(() => joint.cdf(ones([2]))).toThrow('Independent has no cdf()');
    expect(() => D.klDivergence(new D.Independent(base, 1), base)).toThrow(
      'No KL(p || q) is implemented for p type Independent and q type Normal',
    );
    expect(() => new D.Independent(base, -1)).toThrow('reinterpreted_batch_ndims');
  });

  it('enumerates nothing but its base', () => {
    const coins = new D.Bernoulli({ probs: tensor([0.2, 0.3]) });
    expect(new D.Independent(coins, 0).enumerateSupport().toArray()).toEqual([
      [0, 0],
      [1, 1],
    ]);
    const joint = new D.Independent(coins, 1);
    expect(joint.hasEnumerateSupport).toBe(false);
    expect(() => joint.enumerateSupport()).toThrow(
      'Enumeration over cartesian product is not implemented',
    );
  });
});

describe('enumerateSupport', () => {
  it('has all values, for the batch or to broadcast', () => {
    const coins = new D.Bernoulli({ probs: tensor([0.2, 0.3]) });
    expect(coins.enumerateSupport({ expand: false }).toArray()).toEqual([[0], [1]]);
    const total = coins.enumerateSupport({ expand: false });
    close(
      coins
        .logProb(total.expand([2, 2]))
        .exp()
        .sum(0),
      [1, 1],
    );
    const drawn = new D.Binomial({ totalCount: 2, probs: tensor([0.2, 0.3]) });
    expect(drawn.enumerateSupport().toArray()).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
    const uneven = new D.Binomial({ totalCount: tensor([2, 3]), probs: 0.5 });
    expect(() => uneven.enumerateSupport()).toThrow(
      'Inhomogeneous total count not supported by `enumerate_support`.',
    );
    const kinds = new D.Categorical({ probs: ones([2, 3]) });
    expect(kinds.enumerateSupport().toArray()).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
    expect([kinds.enumerateSupport().dtype, kinds.hasEnumerateSupport]).toEqual(['int64', true]);
    const hot = new D.OneHotCategorical({ probs: ones([2]) });
    expect(hot.enumerateSupport().toArray()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    const normal = new D.Normal(0, 1);
    expect(normal.hasEnumerateSupport).toBe(false);
    expect(() => normal.enumerateSupport()).toThrow('Normal has no enumerateSupport()');
    expect(() => coins.enumerateSupport({ expnd: true } as never)).toThrow('expnd');
  });
});

describe('further distributions', () => {
  it('a normal of low rank has the matrices of its covariance', () => {
    manualSeed(3);
    const [loc, factor, diag] = [
      tensor([1, 2, 3]),
      tensor([
        [1, 0],
        [0.5, 1],
        [0, 2],
      ]),
      tensor([0.5, 1, 2]),
    ];
    const p = new D.LowRankMultivariateNormal(loc, factor, diag);
    const covariance = factor.matmul(factor.t()).add(diag.diagEmbed());
    const q = new D.MultivariateNormal(loc, { covarianceMatrix: covariance });
    for (const name of ['covarianceMatrix', 'precisionMatrix', 'scaleTril', 'variance'] as const)
      expect(p[name].allclose(q[name], { rtol: 1e-4, atol: 1e-5 }), name).toBe(true);
    const samples = p.sample([20000]).sub(loc);
    expect(
      samples.t().matmul(samples).div(20000).allclose(covariance, { atol: 0.15, rtol: 0 }),
    ).toBe(true);
    expect(p.expand([4]).logProb(loc).sizes).toEqual([4]);
    const mistakes: [() => unknown, string][] = [
      [
        () => new D.LowRankMultivariateNormal(tensor(1), factor, diag),
        'loc must be at least one-dimensional.',
      ],
      [
        () => new D.LowRankMultivariateNormal(loc, diag, diag),
        'cov_factor must be at least two-dimensional, with optional leading batch dimensions',
      ],
      [
        () => new D.LowRankMultivariateNormal(ones([2]), factor, diag),
        'cov_factor must be a batch of matrices with shape 2 x m',
      ],
      [
        () => new D.LowRankMultivariateNormal(loc, factor, ones([2])),
        'cov_diag must be a batch of vectors with shape torch.Size([3])',
      ],
      [
        () => new D.LowRankMultivariateNormal(ones([2, 3]), factor.expand([3, 3, 2]), diag),
        'Incompatible batch shapes',
      ],
      [
        () => new D.LowRankMultivariateNormal(loc, factor, diag.neg()),
        'Expected parameter cov_diag',
      ],
    ];
    for (const [make, message] of mistakes) expect(make).toThrow(message);
  });

  it('samples have the moments that the formulas give, with gradients', () => {
    manualSeed(4);
    const probs = tensor([0.2, 0.5, 0.9]).requiresGrad_();
    const p = new D.ContinuousBernoulli({ probs });
    const x = p.rsample([20000]);
    expect(x.mean(0).allclose(p.mean, { atol: 0.01, rtol: 0 })).toBe(true);
    expect(x.var(0).allclose(p.variance, { atol: 0.01, rtol: 0 })).toBe(true);
    x.sum().backward();
    expect(probs.grad!.isfinite().all().item()).toBe(1);
    const tail = new D.GeneralizedPareto(1, 2, tensor([0, 0.2, -1, -0.5]));
    const y = tail.sample([40000]);
    expect(y.mean(0).allclose(tail.mean, { atol: 0.08, rtol: 0 })).toBe(true);
    const middle = tail.icdf(tensor(0.5));
    close(tail.cdf(middle), [0.5, 0.5, 0.5, 0.5]);
    close(tail.logSurvivalFunction(middle), Array(4).fill(-log2));
    expect(tail.support.check(tensor([100, 100, 3.5, 4])).toArray()).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(() => new D.GeneralizedPareto(0, -1, 0)).toThrow('Expected parameter scale');
  });
});
