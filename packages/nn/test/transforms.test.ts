/**
 * @file Transforms of distributions, eager and compiled, against what PyTorch computed (data/reference-transforms.py).
 */
import { readFileSync } from 'node:fs';
import { type Tensor, arange, eye, manualSeed, ones, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import * as D from '../src/distributions/index.js';
import { compileForTest } from './compile-for-test.js';

interface Saved {
  readonly shape: number[];
  readonly values: (number | string)[];
}
interface TransformCase {
  readonly name: string;
  readonly x: Saved;
  readonly y: Saved;
  readonly weights: Saved;
  readonly grad: Saved;
  readonly inverse: Saved;
  readonly logAbsDetJacobian: Saved | null;
  readonly domain: number;
  readonly codomain: number;
  readonly bijective: boolean;
  readonly forwardShape: number[];
  readonly inverseShape: number[];
}
interface BuiltCase {
  readonly name: string;
  readonly transforms: string[];
  readonly batchShape: number[];
  readonly eventShape: number[];
  readonly value: Saved;
  readonly logProb: Saved;
  readonly cdf: Saved | null;
  readonly level: Saved;
  readonly icdf: Saved | null;
  readonly expanded: number[][];
}

const recorded = JSON.parse(
  readFileSync(new URL('./data/reference-transforms.json', import.meta.url), 'utf8'),
) as {
  cases: TransformCase[];
  built: BuiltCase[];
  onto: { name: string; x: Saved; bijectTo: Saved | null; transformTo: Saved }[];
};

const number = (value: number | string): number => Number(String(value).replace('inf', 'Infinity'));
const read = ({ shape, values }: Saved): Tensor => tensor(values.map(number)).view(shape);

function expectSaved(actual: Tensor, saved: Saved, name: string): void {
  expect([...actual.sizes], name).toEqual(saved.shape);
  const values = Array.from(actual.detach().contiguous().toTypedArray() as Float32Array);
  saved.values.map(number).forEach((wanted, i) => {
    const isClose = Math.abs(values[i]! - wanted) <= 2e-5 + 2e-5 * Math.abs(wanted);
    if (!isClose && !Object.is(values[i], wanted))
      expect.fail(`${name}[${i}]: ${values[i]}, PyTorch has ${wanted}`);
  });
}

/** The transforms that the recorder has by these names. */
const MADE: Readonly<Record<string, () => D.Transform>> = {
  exp: () => new D.ExpTransform(),
  power: () => new D.PowerTransform(1.5),
  sigmoid: () => new D.SigmoidTransform(),
  softplus: () => new D.SoftplusTransform(),
  tanh: () => new D.TanhTransform(),
  affine: () => new D.AffineTransform(tensor([1, -2, 0.5]), tensor([2, -0.5, 3])),
  affineEvent: () => new D.AffineTransform(0.5, -2, { eventDim: 1 }),
  affineNumbers: () => new D.AffineTransform(0.2, 1.5),
  falling: () => new D.AffineTransform(0.2, -1.5),
  cdf: () => new D.CumulativeDistributionTransform(new D.Normal(0.3, 1.2)),
  compose: () =>
    new D.ComposeTransform([
      new D.AffineTransform(0.1, 0.7),
      new D.SigmoidTransform(),
      new D.PowerTransform(2),
    ]),
  composeVectors: () =>
    new D.ComposeTransform([new D.AffineTransform(0.1, 0.7), new D.StickBreakingTransform()]),
  independent: () => new D.IndependentTransform(new D.ExpTransform(), 1),
  inverse: () => new D.ExpTransform().inv,
  reshape: () => new D.ReshapeTransform([3], [3, 1]),
  stickBreaking: () => new D.StickBreakingTransform(),
  softmax: () => new D.SoftmaxTransform(),
  abs: () => new D.AbsTransform(),
  lowerCholesky: () => new D.LowerCholeskyTransform(),
};

const modes = [
  ['eager', false],
  ['compiled', true],
] as const;

function maybe<A extends unknown[], R>(
  compiled: boolean,
  fn: (...args: A) => R,
): (...args: A) => R {
  return compiled ? compileForTest(fn).call : fn;
}

describe.each(modes)("%s transforms are PyTorch's", (_, compiled) => {
  it.each(recorded.cases.map((entry) => [entry.name, entry] as const))('%s', (name, entry) => {
    const make = MADE[name]!;
    const transform = make();
    const x = read(entry.x).requiresGrad_();
    const y = maybe(compiled, (input: Tensor) => make().call(input))(x);
    expectSaved(y, entry.y, 'y');
    y.mul(read(entry.weights)).sum().backward();
    expectSaved(x.grad!, entry.grad, 'gradient');
    const back = maybe(compiled, (output: Tensor) => make().inv.call(output))(read(entry.y));
    expectSaved(back, entry.inverse, 'inverse');
    const stretch = maybe(compiled, (a: Tensor, b: Tensor) => make().logAbsDetJacobian(a, b));
    if (entry.logAbsDetJacobian === null)
      expect(() => transform.logAbsDetJacobian(x, y)).toThrow('has no logAbsDetJacobian()');
    else expectSaved(stretch(read(entry.x), read(entry.y)), entry.logAbsDetJacobian, 'stretch');
    expect([transform.domain.eventDim ?? 0, transform.codomain.eventDim ?? 0]).toEqual([
      entry.domain,
      entry.codomain,
    ]);
    expect(transform.bijective).toBe(entry.bijective);
    expect(transform.forwardShape(entry.x.shape)).toEqual(entry.forwardShape);
    expect(transform.inverseShape(entry.y.shape)).toEqual(entry.inverseShape);
    expect(transform.inv.inv).toBe(transform);
    expect(transform.equals(make())).toBe(!['affine', 'cdf'].includes(name));
    expect(transform.codomain.check(y.detach()).all().item()).toBe(1);
  });

  const normal = (): D.Normal => new D.Normal(tensor([0.1, -0.4, 0.7]), tensor([0.5, 1, 1.5]));
  it.each(recorded.built.map((entry) => [entry.name, entry] as const))(
    'a distribution of what they make: %s',
    (name, entry) => {
      const base = (): D.Distribution =>
        name === 'vectors'
          ? new D.MultivariateNormal(zeros([3]), { scaleTril: eye(3) })
          : name === 'widened'
            ? new D.Normal(0, 1)
            : normal();
      const make = (): D.TransformedDistribution =>
        new D.TransformedDistribution(
          base(),
          entry.transforms.map((each) => MADE[each]!()),
        );
      const p = make();
      expect([p.batchShape, p.eventShape]).toEqual([entry.batchShape, entry.eventShape]);
      const call = (fn: (d: D.Distribution, x: Tensor) => Tensor, x: Saved): Tensor =>
        maybe(compiled, (value: Tensor) => fn(make(), value))(read(x));
      expectSaved(
        call((d, x) => d.logProb(x), entry.value),
        entry.logProb,
        'logProb',
      );
      if (entry.cdf !== null)
        expectSaved(
          call((d, x) => d.cdf(x), entry.value),
          entry.cdf,
          'cdf',
        );
      if (entry.icdf !== null)
        expectSaved(
          call((d, x) => d.icdf(x), entry.level),
          entry.icdf,
          'icdf',
        );
      const wide = p.expand([4, ...p.batchShape]);
      const sample = wide.rsample([5]);
      expect([wide.batchShape, wide.eventShape, sample.sizes]).toEqual(entry.expanded);
      expect(
        p.support
          .check(p.sample([7]))
          .all()
          .item(),
      ).toBe(1);
      expect(D.klDivergence(p, p).abs().lt(1e-6).all().item()).toBe(1);
    },
  );

  it.each(recorded.onto.map((entry) => [entry.name, entry] as const))(
    'from real numbers onto a set: %s',
    (name, entry) => {
      const C = D.constraints;
      const constraint = {
        ...{ real: C.real, realVector: C.realVector, positive: C.positive },
        ...{ nonnegative: C.nonnegative, unitInterval: C.unitInterval },
        ...{ greaterThan: C.greaterThan(1), greaterThanEq: C.greaterThanEq(-2) },
        ...{ lessThan: C.lessThan(3), interval: C.interval(-1, 4), simplex: C.simplex },
        ...{ halfOpenInterval: C.halfOpenInterval(0.5, 2), lowerCholesky: C.lowerCholesky },
        independent: C.independent(C.positive, 2),
      }[name]!;
      const x = read(entry.x);
      for (const [each, onto] of [
        ['bijectTo', D.bijectTo],
        ['transformTo', D.transformTo],
      ] as const) {
        const wanted = entry[each];
        if (wanted === null) {
          expect(() => onto(constraint)).toThrow('Cannot transform LowerCholesky()');
          continue;
        }
        const y = maybe(compiled, (value: Tensor) => onto(constraint).call(value))(x);
        expectSaved(y, wanted, each);
        expect(constraint.check(y).all().item()).toBe(1);
      }
    },
  );
});

describe('transforms', () => {
  it('with a cache invert what they just made exactly, as squashed policies need', () => {
    const x = tensor([9.5]);
    const plain = new D.TanhTransform();
    expect(plain.invert(plain.call(x)).item()).toBe(Infinity);
    const cached = new D.TanhTransform({ cacheSize: 1 });
    const policy = new D.TransformedDistribution(new D.Normal(tensor([12]), 0.1), cached);
    manualSeed(2);
    const action = policy.rsample();
    expect(action.item()).toBe(1);
    expect(Number.isFinite(policy.logProb(action).item())).toBe(true);
    expect(cached.inv.call(action).item()).toBeLessThan(13);
  });

  it('keep a cache across calls of a compiled function without mixing them up', () => {
    const cached = new D.TanhTransform({ cacheSize: 1 });
    const round = (x: Tensor): Tensor => cached.invert(cached.call(x)).add(cached.call(x));
    const { call } = compileForTest(round);
    for (const value of [0.5, -1, 0.25, 0.5]) {
      const got = call(tensor([value])).item();
      expect(got).toBeCloseTo(value + Math.tanh(value), 6);
    }
  });

  it('refuse what they cannot take', () => {
    const normal = new D.Normal(0, 1);
    expect(() => new D.TransformedDistribution(normal, new D.StickBreakingTransform())).toThrow(
      'base_distribution needs to have shape with size at least 1, but got [].',
    );
    expect(() => new D.TransformedDistribution(normal, [3 as never])).toThrow('list of Transforms');
    expect(() => new D.TransformedDistribution(normal, new D.ExpTransform()).mean).toThrow(
      'TransformedDistribution has no mean',
    );
    expect(() => new D.ExpTransform({ cacheSize: 2 as never })).toThrow('cacheSize must be 0 or 1');
    expect(() => new D.ReshapeTransform([3], [2])).toThrow('different numbers of elements');
    expect(() => new D.ReshapeTransform([3], [3, 1]).forwardShape([4])).toThrow('Shape mismatch');
    expect(() => new D.AbsTransform().sign).toThrow('AbsTransform has no sign');
    expect(() => D.bijectTo(D.constraints.boolean)).toThrow('Cannot transform Boolean()');
    const other = new D.TransformedDistribution(normal, new D.TanhTransform());
    const one = new D.TransformedDistribution(normal, new D.ExpTransform());
    expect(() => D.klDivergence(one, other)).toThrow('No KL(p || q)');
  });
});

describe('expand', () => {
  const made: [string, () => D.Distribution][] = [
    ['Normal', () => new D.Normal(zeros([3]), 1)],
    ['LogNormal', () => new D.LogNormal(zeros([3]), 0.5)],
    ['Gamma', () => new D.Gamma(ones([3]), 2)],
    ['Beta', () => new D.Beta(ones([3]), 2)],
    ['Dirichlet', () => new D.Dirichlet(ones([3, 2]))],
    ['StudentT', () => new D.StudentT(ones([3]))],
    ['Bernoulli', () => new D.Bernoulli({ probs: ones([3]).mul(0.5) })],
    ['Binomial', () => new D.Binomial({ totalCount: 3, probs: ones([3]).mul(0.5) })],
    ['Categorical', () => new D.Categorical({ logits: zeros([3, 4]) })],
    ['Multinomial', () => new D.Multinomial({ totalCount: 2, probs: ones([3, 4]) })],
    ['OneHotCategorical', () => new D.OneHotCategorical({ probs: ones([3, 4]) })],
    ['HalfNormal', () => new D.HalfNormal(ones([3]))],
    ['Kumaraswamy', () => new D.Kumaraswamy(ones([3]), 2)],
    ['RelaxedBernoulli', () => new D.RelaxedBernoulli(0.5, { logits: zeros([3]) })],
    ['LogisticNormal', () => new D.LogisticNormal(zeros([3, 2]), 1)],
    ['MultivariateNormal', () => new D.MultivariateNormal(zeros([3, 2]), { scaleTril: eye(2) })],
    ['Independent', () => new D.Independent(new D.Normal(zeros([3, 2]), 1), 1)],
    [
      'MixtureSameFamily',
      () =>
        new D.MixtureSameFamily(
          new D.Categorical({ logits: zeros([3, 2]) }),
          new D.Normal(zeros([3, 2]), 1),
        ),
    ],
  ];

  it.each(made)('%s has the same distributions in a larger batch', (_name, make) => {
    const p = make();
    const wide = p.expand([4, 3]);
    expect(wide).toBeInstanceOf(p.constructor);
    expect([p.batchShape, wide.batchShape]).toEqual([[3], [4, 3]]);
    expect(wide.eventShape).toEqual(p.eventShape);
    const x = wide.sample();
    expect(x.sizes).toEqual([4, 3, ...p.eventShape]);
    expect(wide.logProb(x).toArray()).toEqual(p.logProb(x).toArray());
    expect(() => p.expand([4])).toThrow('expand');
  });
});

describe('matrices', () => {
  const close = (actual: Tensor, values: readonly number[]): void => {
    const flat = actual.detach().reshape([-1]).toArray() as number[];
    expect(flat.length).toBe(values.length);
    flat.forEach((v, i) => expect(Math.abs(v - values[i]!)).toBeLessThan(2e-5));
  };

  it('CorrCholeskyTransform is what PyTorch has', () => {
    const x = tensor([
      [0.3, -1.2, 0.7],
      [2, 0.1, -0.4],
    ]).requiresGrad_();
    const t = D.bijectTo(D.constraints.corrCholesky);
    expect(t).toBeInstanceOf(D.CorrCholeskyTransform);
    const y = t.call(x);
    // prettier-ignore
    close(y, [1, 0, 0, 0.2913126, 0.9566279, 0, -0.8336546, 0.3337839, 0.4400094, 1, 0, 0, 0.9640276, 0.2658022, 0, 0.099668, -0.3780571, 0.9204016]);
    close(t.invert(y), [0.3, -1.2, 0.7, 2, 0.1, -0.4]);
    close(t.logAbsDetJacobian(x, y), [-2.3242888, -2.8208876]);
    y.mul(arange(18).view([2, 3, 3]))
      .sum()
      .backward();
    close(x.grad!, [1.6306996, 6.712471, 0.3264852, -2.483319, 13.8943892, 19.5670509]);
    expect(t.codomain.check(y).toArray()).toEqual([true, true]);
    expect([t.forwardShape([2, 3]), t.inverseShape([2, 3, 3])]).toEqual([
      [2, 3, 3],
      [2, 3],
    ]);
    expect(() => t.forwardShape([4])).toThrow('Input is not a flattened lower-diagonal number');
    expect(() => t.inverseShape([3, 2])).toThrow('Input is not square');
    const p = new D.TransformedDistribution(new D.Independent(new D.Normal(zeros([3]), 1), 1), [t]);
    expect(p.logProb(p.sample([4])).sizes).toEqual([4]);
  });

  it('PositiveDefiniteTransform is what PyTorch has', () => {
    const x = tensor([
      [0.5, 9],
      [-1, -0.2],
    ]).requiresGrad_();
    const t = D.transformTo(D.constraints.positiveDefinite);
    const y = t.call(x);
    close(y, [2.7182817, -1.6487212, -1.6487212, 1.67032]);
    close(t.invert(y), [0.5, 0, -1, -0.2]);
    y.mul(arange(4).view([2, 2]))
      .sum()
      .backward();
    close(x.grad!, [-4.9461637, 0, -1.0538363, 4.0219202]);
    expect(() => D.bijectTo(D.constraints.positiveDefinite)).toThrow('Cannot transform');
  });
});
