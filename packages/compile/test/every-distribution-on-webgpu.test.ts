/**
 * @file Distributions on WebGPU, eager and compiled: samples of a seed, their log-probabilities, derivatives and
 * divergences are those of the CPU.
 */
import * as D from '@tessera/nn/distributions';
import { type Tensor, download, grad, isTensor, manualSeed, noGrad, tensor } from '@tessera/tensor';
import '@tessera/tensor/linalg';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu } from '../src/node.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { sampleName, sampled } from '../../../tooling/full-tests.js';

type Make = (a: Tensor, b: Tensor) => D.Distribution;

/** Parameters: `a` from 0.4 on, `b` of any sign. `VonMises` draws other angles on the CPU (von-mises.test.ts). */
const A = tensor([0.4, 1.3, 2.5, 7]);
const B = tensor([-1.2, 0.1, 0.6, 2]);
const none = { validateArgs: false } as const;
const share = (b: Tensor): Tensor => b.sigmoid();

const MADE: Record<string, Make> = {
  Bernoulli: (_, b) => new D.Bernoulli({ logits: b, ...none }),
  Beta: (a, b) => new D.Beta(a, b.exp(), none),
  Binomial: (_, b) => new D.Binomial({ totalCount: 12, logits: b, ...none }),
  Categorical: (a) => new D.Categorical({ probs: a, ...none }),
  Cauchy: (a, b) => new D.Cauchy(b, a, none),
  Chi2: (a) => new D.Chi2(a, none),
  ContinuousBernoulli: (_, b) => new D.ContinuousBernoulli({ logits: b, ...none }),
  Dirichlet: (a) => new D.Dirichlet(a, none),
  Exponential: (a) => new D.Exponential(a, none),
  FisherSnedecor: (a, b) => new D.FisherSnedecor(a.add(2), b.exp().add(3), none),
  Gamma: (a, b) => new D.Gamma(a, b.exp(), none),
  Geometric: (_, b) => new D.Geometric({ probs: share(b), ...none }),
  Gumbel: (a, b) => new D.Gumbel(b, a, none),
  HalfCauchy: (a) => new D.HalfCauchy(a, none),
  HalfNormal: (a) => new D.HalfNormal(a, none),
  InverseGamma: (a, b) => new D.InverseGamma(a.add(1), b.exp(), none),
  Kumaraswamy: (a, b) => new D.Kumaraswamy(a, b.exp(), none),
  Laplace: (a, b) => new D.Laplace(b, a, none),
  LogNormal: (a, b) => new D.LogNormal(b, a.mul(0.2), none),
  NegativeBinomial: (a, b) => new D.NegativeBinomial(a, { logits: b, ...none }),
  Normal: (a, b) => new D.Normal(b, a, none),
  OneHotCategorical: (a) => new D.OneHotCategorical({ probs: a, ...none }),
  Pareto: (a, b) => new D.Pareto(b.exp(), a.add(1), none),
  Poisson: (a) => new D.Poisson(a.mul(4), none),
  StudentT: (a, b) => new D.StudentT(a.add(2), b, a, none),
  Uniform: (a, b) => new D.Uniform(b, b.add(a), none),
  GeneralizedPareto: (a, b) => new D.GeneralizedPareto(b, a, 0.2, none),
  Independent: (a, b) => new D.Independent(new D.Beta(a, b.exp(), none), 1, none),
  LKJCholesky: (a) => new D.LKJCholesky(3, a, none),
  LogisticNormal: (a, b) => new D.LogisticNormal(b, a.mul(0.3), none),
  LowRankMultivariateNormal: (a, b) =>
    new D.LowRankMultivariateNormal(b, b.unsqueeze(1).cos(), a, none),
  MixtureSameFamily: (a, b) =>
    new D.MixtureSameFamily(
      new D.Categorical({ probs: a, ...none }),
      new D.Normal(b, a, none),
      none,
    ),
  Multinomial: (a) => new D.Multinomial({ totalCount: 9, probs: a, ...none }),
  MultivariateNormal: (a, b) =>
    new D.MultivariateNormal(b, { covarianceMatrix: a.diag().add(0.2), ...none }),
  RelaxedBernoulli: (_, b) => new D.RelaxedBernoulli(0.7, { logits: b, ...none }),
  RelaxedOneHotCategorical: (a) => new D.RelaxedOneHotCategorical(0.7, { probs: a, ...none }),
  Wishart: (a) => new D.Wishart(6, { covarianceMatrix: a.diag().add(0.2), ...none }),
  Weibull: (a, b) => new D.Weibull(b.exp(), a, none),
};

/** Samples, their log-probabilities, what both give as derivatives, and the divergence from another of the kind. */
function observe(make: Make, a: Tensor, b: Tensor): Tensor[] {
  const leaves = [a.clone().requiresGrad_(), b.clone().requiresGrad_()];
  const made = make(leaves[0]!, leaves[1]!);
  const sample = made.hasRsample ? made.rsample([3]) : noGrad(() => made.sample([3]));
  const density = made.logProb(sample.detach());
  let total = density.sum();
  if (made.hasRsample) total = total.add(sample.sin().sum());
  const results = [sample.detach(), density.detach()];
  const other = make(leaves[0]!.mul(1.5), leaves[1]!.mul(0.5));
  const divergence = divergenceOf(made, other);
  if (divergence !== null) {
    total = total.add(divergence.sum());
    results.push(divergence.detach());
  }
  const gradients = grad(total, leaves, { allowUnused: true });
  return [...results, ...gradients.filter((each) => isTensor(each))] as Tensor[];
}

function divergenceOf(p: D.Distribution, q: D.Distribution): Tensor | null {
  try {
    return D.klDivergence(p, q);
  } catch (error) {
    if (String(error).includes('No KL')) return null;
    throw error;
  }
}

describe.skipIf(!wantsGpu)(`on WebGPU, as on the CPU (${sampleName})`, () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(sampled(Object.entries(MADE), 3))('%s', async (_, make) => {
    const fn = (a: Tensor, b: Tensor): Tensor[] => observe(make, a, b);
    manualSeed(5);
    const expected = fn(A, B);
    for (const run of [fn, compile(fn)]) {
      manualSeed(5);
      const results = run(A.to('wgpu'), B.to('wgpu'));
      expect(results.length).toBe(expected.length);
      for (const [i, each] of results.entries()) {
        const actual = await download(each);
        const near = { rtol: 2e-4, atol: 2e-5, equalNan: true };
        if (!actual.allclose(expected[i]!, near))
          expect([i, actual.toArray()]).toEqual([i, expected[i]!.toArray()]);
      }
    }
  });
});
