/**
 * @file Distributions, eager and compiled: formulas against what PyTorch computed (data/reference-distributions.py),
 * samples against the moments that the formulas give.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Tensor, allclose, eye, manualSeed, ones, tensor, zeros } from '@tessera/tensor';
import { inv } from '@tessera/tensor/linalg';
import { describe, expect, it } from 'vitest';
import * as D from '../src/distributions/index.js';
import { compileForTest } from './compile-for-test.js';
import { type Recorded, restore } from './reference.js';

type Saved = Omit<Recorded, 'values'> & { readonly values: (number | string)[] };
type Parameters = Record<string, Saved | number> | (Saved | number)[];

interface Case {
  readonly kind: string;
  readonly parameters: Parameters;
  readonly batchShape: number[];
  readonly eventShape: number[];
  readonly value: Saved;
  readonly logProb: Saved;
  readonly grads: Saved[];
  readonly mean: Saved | null;
  readonly variance: Saved | null;
  readonly mode: Saved | null;
  readonly entropy: Saved | null;
  readonly cdf: Saved | null;
  readonly level: Saved | null;
  readonly icdf: Saved | null;
}

const recorded = JSON.parse(
  gunzipSync(
    readFileSync(new URL('./data/reference-distributions.json.gz', import.meta.url)),
  ).toString(),
) as {
  cases: Case[];
  divergences: { p: string; q: string; first: Parameters; second: Parameters; kl: Saved }[];
};

const number = (value: number | string): number =>
  typeof value === 'number'
    ? value
    : value === 'nan'
      ? NaN
      : value === 'inf'
        ? Infinity
        : -Infinity;
const read = (saved: Saved): Tensor => restore({ ...saved, values: saved.values.map(number) });

function expectSaved(actual: Tensor, saved: Saved, name: string): void {
  expect([actual.dtype, ...actual.sizes], name).toEqual([saved.dtype, ...saved.shape]);
  const values = Array.from(actual.detach().contiguous().toTypedArray() as Float32Array, Number);
  values.forEach((value, i) => {
    const expected = number(saved.values[i]!);
    const close = Math.abs(value - expected) <= 2e-5 + 2e-5 * Math.abs(expected);
    if (!close && !Object.is(value, expected))
      expect.fail(`${name}[${i}]: ${value}, PyTorch has ${expected}`);
  });
}

function withoutCount(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== 'totalCount'));
}

/** Makes a distribution of recorded parameters, or of others in their place. */
function make(kind: string, parameters: Parameters, given?: readonly Tensor[]): D.Distribution {
  const classes = D as unknown as Record<string, new (...args: unknown[]) => D.Distribution>;
  const Class = classes[kind]!;
  let next = 0;
  const value = (v: Saved | number): unknown =>
    typeof v === 'number' ? v : (given?.[next++] ?? read(v));
  if (Array.isArray(parameters)) return new Class(...parameters.map(value));
  const options = Object.fromEntries(
    Object.entries(parameters).map(([name, v]) => [
      name.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase()),
      value(v),
    ]),
  );
  // What is no option comes first.
  const { loc, temperature, df, ...rest } = options;
  const first = loc ?? temperature ?? df;
  if (kind === 'NegativeBinomial') return new Class(rest['totalCount'], withoutCount(rest));
  return first === undefined ? new Class(rest) : new Class(first, rest);
}

const tensorsOf = (parameters: Parameters): Tensor[] =>
  Object.values(parameters).flatMap((v) => (typeof v === 'number' ? [] : [read(v)]));

const modes = [
  ['eager', false],
  ['compiled', true],
] as const;

/** The function as it is, or compiled. */
function maybe<A extends unknown[], R>(
  compiled: boolean,
  fn: (...args: A) => R,
): (...args: A) => R {
  return compiled ? compileForTest(fn).call : fn;
}

describe.each(modes)("%s formulas are PyTorch's", (_, compiled) => {
  it.each(recorded.cases.map((entry) => [entry.kind, entry] as const))('%s', (kind, entry) => {
    const tensors = tensorsOf(entry.parameters);
    const binomial = kind.endsWith('Binomial');
    const wanted = tensors.filter((_t, i) => !(binomial && i === 0)).map((t) => t.requiresGrad_());
    const call = <R>(fn: (p: D.Distribution, value: Tensor) => R, value: Saved): R =>
      maybe(compiled, (all: Tensor[], x: Tensor) => fn(make(kind, entry.parameters, all), x))(
        tensors,
        read(value),
      );
    const { batchShape, eventShape } = make(kind, entry.parameters, tensors);
    expect([batchShape, eventShape]).toEqual([entry.batchShape, entry.eventShape]);
    const logProb = call((p, x) => p.logProb(x), entry.value);
    expectSaved(logProb, entry.logProb, 'logProb');
    logProb.sum().backward();
    wanted.forEach((t, i) => expectSaved(t.grad!, entry.grads[i]!, `gradient ${i}`));
    for (const name of ['mean', 'variance', 'mode'] as const)
      if (entry[name] !== null)
        expectSaved(
          call((p) => p[name], entry.value),
          entry[name],
          name,
        );
    if (entry.entropy !== null)
      expectSaved(
        call((p) => p.entropy(), entry.value),
        entry.entropy,
        'entropy',
      );
    if (entry.cdf !== null)
      expectSaved(
        call((p, x) => p.cdf(x), entry.value),
        entry.cdf,
        'cdf',
      );
    if (entry.icdf !== null)
      expectSaved(
        call((p, x) => p.icdf(x), entry.level!),
        entry.icdf,
        'icdf',
      );
  });

  it.each(recorded.divergences.map((entry) => [entry.p, entry.q, entry] as const))(
    'KL(%s ‖ %s)',
    (p, q, { first, second, kl }) => {
      const [a, b] = [tensorsOf(first), tensorsOf(second)];
      const run = maybe(compiled, (x: Tensor[], y: Tensor[]) =>
        D.klDivergence(make(p, first, x), make(q, second, y)),
      );
      // Numbers of trials differ: PyTorch has no formula for fewer.
      expectSaved(run(a, b), kl, 'kl');
    },
  );
});

describe.each(modes)('samples, %s', (_, compiled) => {
  it.each(recorded.cases.map((entry) => [entry.kind, entry] as const))(
    '%s: have the shape, the moments and the support',
    (kind, entry) => {
      manualSeed(11);
      const tensors = tensorsOf(entry.parameters);
      const p = make(kind, entry.parameters, tensors);
      const draw = maybe(compiled, (all: Tensor[]) =>
        make(kind, entry.parameters, all).sample([3000]),
      );
      const samples = draw(tensors);
      expect(samples.sizes).toEqual([3000, ...entry.batchShape, ...entry.eventShape]);
      expect(samples.requiresGrad).toBe(false);
      expect(p.support.check(samples).all().item()).toBe(1);
      // The mean of angles is a direction.
      if (['Categorical', 'VonMises'].includes(kind) || entry.mean === null) return;
      const deviation = p.variance.sqrt();
      const error = samples.to('float32').mean(0).sub(p.mean).abs();
      const limit = deviation.mul(5 / Math.sqrt(3000)).add(1e-6);
      // Without a finite variance the mean of samples settles nowhere.
      const settled = deviation.isfinite();
      expect(error.lt(limit).logicalOr(settled.logicalNot()).all().item()).toBe(1);
    },
  );

  it('categories occur as often as their probabilities say', () => {
    manualSeed(12);
    const p = new D.Categorical({
      probs: tensor([
        [1, 3],
        [9, 1],
      ]),
    });
    const shares = maybe(compiled, () => p.sample([4000]))()
      .to('float32')
      .mean(0)
      .toArray() as number[];
    [0.75, 0.1].forEach((share, i) => expect(Math.abs(shares[i]! - share)).toBeLessThan(0.03));
  });

  /** Gradient of the mean of f(sample), against that of what the mean is. */
  const pathwise: [string, (p: Tensor) => D.Distribution, number, (p: number) => number][] = [
    ['Normal in its scale', (s) => new D.Normal(1, s), 0.7, (s) => 1 + s * s],
    ['LogNormal', (s) => new D.LogNormal(0, s), 0.4, (s) => Math.exp(2 * s * s)],
    ['Uniform', (h) => new D.Uniform(0, h), 2, (h) => (h * h) / 3],
    ['Exponential', (r) => new D.Exponential(r), 1.5, (r) => 2 / (r * r)],
    ['Laplace', (s) => new D.Laplace(1, s), 0.5, (s) => 1 + 2 * s * s],
    ['Gamma in its concentration', (c) => new D.Gamma(c, 2), 1.3, (c) => (c * (c + 1)) / 4],
    ['Beta', (a) => new D.Beta(a, 2), 1.5, (a) => (a * (a + 1)) / ((a + 2) * (a + 3))],
    ['StudentT in its scale', (s) => new D.StudentT(8, 0, s), 0.9, (s) => (s * s * 8) / 6],
  ];
  it.each(pathwise)('rsample of %s: gradients of a second moment', (_name, build, at, moment) => {
    manualSeed(13);
    const parameter = tensor(at).requiresGrad_();
    const run = maybe(compiled, (p: Tensor) => build(p).rsample([20000]).square().mean());
    run(parameter).backward();
    const slope = (moment(at + 1e-4) - moment(at - 1e-4)) / 2e-4;
    expect(Math.abs(parameter.grad!.item() - slope)).toBeLessThan(0.1 * Math.abs(slope) + 0.01);
  });

  it('MultivariateNormal of a covariance and of a precision', () => {
    const f64 = { dtype: 'float64' } as const;
    const scaleTril = tensor(
      [
        [
          [2, 0],
          [0.5, 1.5],
        ],
        [
          [1, 0],
          [-0.3, 0.7],
        ],
      ],
      f64,
    );
    const loc = tensor([1, -1], f64);
    const reference = new D.MultivariateNormal(loc, { scaleTril });
    const { covarianceMatrix } = reference;
    const x = tensor([0.3, 2], f64);
    for (const options of [{ covarianceMatrix }, { precisionMatrix: inv(covarianceMatrix) }]) {
      const made = new D.MultivariateNormal(loc, options);
      expect(allclose(made.scaleTril, reference.scaleTril)).toBe(true);
      expect(allclose(made.logProb(x), reference.logProb(x))).toBe(true);
    }
    expect(() => new D.MultivariateNormal(loc, {})).toThrow(/Exactly one of /);
    expect(() => new D.MultivariateNormal(loc, { scaleTril, covarianceMatrix })).toThrow(
      /Exactly one of /,
    );
  });

  it('rsample of a MultivariateNormal and a Dirichlet', () => {
    manualSeed(14);
    const factor = tensor([
      [1, 0],
      [0.5, 2],
    ]).requiresGrad_();
    const loc = zeros([2]);
    const run = maybe(compiled, (l: Tensor) =>
      new D.MultivariateNormal(loc, { scaleTril: l }).rsample([20000]),
    );
    const x = run(factor);
    const covariance = x.t().matmul(x).div(20000).detach();
    const [[a], [b, c]] = covariance.toArray() as [number[], number[]];
    expect([a, b, c].map((v, i) => Math.abs(v! - [1, 0.5, 4.25][i]!) < 0.15)).toEqual([
      true,
      true,
      true,
    ]);
    x.select(1, 1).square().mean().backward();
    expect(Math.abs((factor.grad!.toArray() as number[][])[1]![1]! - 4)).toBeLessThan(0.2);
    const c2 = tensor([1, 2, 3]).requiresGrad_();
    maybe(compiled, (v: Tensor) => new D.Dirichlet(v).rsample([20000]).select(-1, 0).mean())(
      c2,
    ).backward();
    // d/dc of c0 / Σc at [1, 2, 3]
    const expected = [5 / 36, -1 / 36, -1 / 36];
    (c2.grad!.toArray() as number[]).forEach((g, i) =>
      expect(Math.abs(g - expected[i]!)).toBeLessThan(0.01),
    );
  });
});

describe('VonMises', () => {
  it('samples have the direction and the spread that the formulas give', () => {
    manualSeed(15);
    const p = new D.VonMises(tensor([3, -0.5, 0]), tensor([4, 0.5, 1e-6]));
    const x = p.sample([8000]);
    expect(x.abs().le(Math.PI).all().item()).toBe(1);
    expect(x.dtype).toBe('float32');
    const [c, s] = [x.cos().mean(0), x.sin().mean(0)];
    const length = c.square().add(s.square()).sqrt();
    expect(length.sub(p.variance.neg().add(1)).abs().lt(0.03).all().item()).toBe(1);
    const turned = s.atan2(c).sub(p.mean).cos();
    expect((turned.toArray() as number[]).slice(0, 2).every((v) => v > 0.99)).toBe(true);
    expect(() => p.rsample()).toThrow('VonMises has no rsample()');
    expect(p.expand([2, 3]).sample().sizes).toEqual([2, 3]);
  });
});

describe('LKJCholesky', () => {
  it('correlations spread as the beta distribution of their marginals', () => {
    manualSeed(16);
    const p = new D.LKJCholesky(3, tensor([0.5, 4]));
    const l = p.sample([6000]);
    const r = l.matmul(l.mT);
    // Correlations are 2b - 1 with b of Beta(c + 1/2, c + 1/2): variance 1 / (2c + 2).
    for (const [i, j] of [
      [1, 0],
      [2, 0],
      [2, 1],
    ] as const) {
      const v = r.select(-1, j).select(-1, i).variance(0).toArray() as number[];
      [1 / 3, 1 / 10].forEach((wanted, k) => expect(Math.abs(v[k]! - wanted)).toBeLessThan(0.03));
    }
    expect(p.expand([3, 2]).logProb(l.narrow(0, 0, 3)).sizes).toEqual([3, 2]);
  });
  it('refuses in the words of PyTorch', () => {
    expect(() => new D.LKJCholesky(1)).toThrow(
      'Expected dim to be an integer greater than or equal to 2. Found dim=1.',
    );
    expect(() => new D.LKJCholesky(2, -1)).toThrow('Expected parameter concentration');
    expect(() => new D.LKJCholesky(2).logProb(ones([2, 2]))).toThrow('CorrCholesky()');
  });
});

describe('a covariance', () => {
  const loc = zeros([2]);
  const lopsided = tensor([
    [1, 0.5],
    [0, 1],
  ]);
  const indefinite = tensor([
    [1, 2],
    [2, 1],
  ]);
  it('is refused where it is none, in the words of PyTorch', () => {
    for (const covarianceMatrix of [lopsided, indefinite])
      expect(() => new D.MultivariateNormal(loc, { covarianceMatrix })).toThrow(
        'Expected parameter covarianceMatrix (Tensor of shape [2, 2]) of distribution MultivariateNormal to satisfy the constraint PositiveDefinite()',
      );
    expect(() => new D.MultivariateNormal(loc, { precisionMatrix: indefinite })).toThrow(
      'Expected parameter precisionMatrix',
    );
    expect(() => new D.MultivariateNormal(tensor(1), { scaleTril: ones([1, 1]) })).toThrow(
      'loc must be at least one-dimensional.',
    );
    expect(() => new D.MultivariateNormal(loc, { covarianceMatrix: ones([2]) })).toThrow(
      'covarianceMatrix must be at least two-dimensional, with optional leading batch dimensions',
    );
    expect(() => new D.Wishart(1, { scaleTril: eye(2) })).toThrow('Expected parameter df');
    expect(() => new D.Wishart(3, {})).toThrow('Exactly one of');
  });
  it('of halves is refused', () => {
    const half = eye(2).to('float16');
    expect(() => new D.MultivariateNormal(loc.to('float16'), { covarianceMatrix: half })).toThrow(
      'float16',
    );
    const p = new D.MultivariateNormal(loc.to('float16'), { scaleTril: half });
    expect(() => p.logProb(loc.to('float16'))).toThrow('float16');
  });
  it('has an inverse', () => {
    const covarianceMatrix = tensor([
      [2, 0.5],
      [0.5, 1],
    ]);
    for (const p of [
      new D.MultivariateNormal(loc, { covarianceMatrix }),
      new D.Wishart(4, { covarianceMatrix }),
    ])
      expect(allclose(p.precisionMatrix, inv(covarianceMatrix))).toBe(true);
  });
  it('of Wishart takes a number of degrees, and gives gradients to it', () => {
    const df = tensor(5).requiresGrad_();
    manualSeed(17);
    new D.Wishart(df, { scaleTril: eye(2) }).rsample([20000]).mean(0).sum().backward();
    expect(Math.abs(df.grad!.item() - 2)).toBeLessThan(0.1);
    expect(new D.Wishart(5, { scaleTril: eye(2) }).mode.toArray()).toEqual([
      [2, 0],
      [0, 2],
    ]);
  });
});

describe('Independent', () => {
  it('adds up the dimensions of its event', () => {
    const base = new D.Normal(zeros([4, 3]), ones([3]));
    const joint = new D.Independent(base, 1);
    expect([joint.batchShape, joint.eventShape, joint.hasRsample]).toEqual([[4], [3], true]);
    const x = joint.rsample([2]);
    expect(x.sizes).toEqual([2, 4, 3]);
    expect(joint.logProb(x).toArray()).toEqual(base.logProb(x).sum(-1).toArray());
    expect(joint.entropy().toArray()).toEqual(base.entropy().sum(-1).toArray());
    const other = new D.Independent(new D.Normal(ones([4, 3]), ones([3])), 1);
    expect(D.klDivergence(joint, other).toArray()).toEqual([1.5, 1.5, 1.5, 1.5]);
    expect(() => new D.Independent(base, 3)).toThrow('reinterpreted_batch_ndims');
    expect(() => D.klDivergence(joint, new D.Independent(base, 2))).toThrow('No KL');
  });
});

describe('distributions', () => {
  it('check parameters and values, in eager code only', () => {
    expect(() => new D.Normal(0, -1)).toThrow(
      'Expected parameter scale (Tensor of shape []) of distribution Normal to satisfy the constraint GreaterThan(lower_bound=0.0)',
    );
    expect(() => new D.Bernoulli({ probs: 2 })).toThrow('Expected parameter probs');
    expect(() => new D.Bernoulli({})).toThrow('must be specified, but not both');
    expect(() => new D.Uniform(1, 0)).toThrow('low >= high');
    expect(() => new D.Dirichlet(tensor(1))).toThrow('one-dimensional');
    expect(() => new D.Poisson(1).logProb(tensor(0.5))).toThrow(
      'within the support (IntegerGreaterThan',
    );
    expect(() => new D.MultivariateNormal(zeros([2]), { scaleTril: ones([2, 2]) })).toThrow(
      'LowerCholesky',
    );
    expect(new D.Normal(0, -1, { validateArgs: false }).batchShape).toEqual([]);
    const graphs = compileForTest((scale: Tensor) => new D.Normal(0, scale).logProb(tensor([1])));
    graphs.call(ones([1]));
    expect(graphs.graphs.length).toBe(1);
  });

  it('say what they do not have', () => {
    expect(() => new D.Poisson(1).rsample()).toThrow('Poisson has no rsample()');
    expect(() => new D.Beta(1, 1).cdf(ones([1]))).toThrow('Beta has no cdf()');
    expect(() => new D.Multinomial({ probs: ones([2]) }).mode).toThrow('Multinomial has no mode.');
    const trials = new D.Binomial({ totalCount: tensor([1, 2]), probs: 0.5 });
    expect(() => trials.entropy()).toThrow('Inhomogeneous total count');
    expect(() => D.klDivergence(new D.Poisson(1), new D.Normal(0, 1))).toThrow('No KL(p || q)');
    expect(`${new D.Normal(zeros([2]), 1)}`).toBe('Normal(batchShape: [2], eventShape: [])');
  });

  it('take divergences of classes that a program registers', () => {
    class Mine extends D.Normal {}
    D.registerKl(Mine, D.Normal, () => tensor(42));
    expect(D.klDivergence(new Mine(0, 1), new D.Normal(0, 1)).item()).toBe(42);
    expect(D.klDivergence(new D.Normal(0, 1), new Mine(0, 1)).item()).toBe(0);
  });
});
