/**
 * @file `klDivergence`: how far one distribution is from another, by registered pairs of classes.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  abs,
  digamma,
  exp,
  expand,
  lgamma,
  log,
  log1p,
  softplus,
  where,
} from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { solveTriangular } from '@tessera/tensor/linalg';
import { Bernoulli, Binomial, Geometric } from './bernoulli.js';
import { Categorical } from './categorical.js';
import { Cauchy } from './cauchy.js';
import { halfLogDet } from './covariance.js';
import { Beta, Dirichlet } from './dirichlet.js';
import { Distribution } from './distribution.js';
import { Exponential } from './exponential.js';
import { EULER, Gumbel, Pareto } from './extreme-value.js';
import { Gamma } from './gamma.js';
import { InverseGamma } from './gamma-ratios.js';
import { HalfCauchy, HalfNormal } from './half.js';
import { Independent } from './independent.js';
import { sumRightmost } from './sum-rightmost.js';
import { type DistributionClass, type Pair, familyPairs, pair } from './kl-families.js';
import { lowRankPairs } from './kl-low-rank.js';
import { tailPairs } from './kl-tails.js';
import { Laplace } from './laplace.js';
import { MultivariateNormal, mahalanobis } from './multivariate-normal.js';
import { LogNormal, Normal } from './normal.js';
import { OneHotCategorical } from './one-hot.js';
import { Poisson } from './poisson.js';
import { TransformedDistribution } from './transformed-distribution.js';
import { ComposeTransform } from './transforms-composed.js';
import { Uniform } from './uniform.js';

/** Σ p (log p - log q) over two outcomes or more, where 0 · log 0 is 0 and nothing makes up for q = 0. */
function guarded(terms: Tensor, p: Tensor, q: Tensor): Tensor {
  return where(p.eq(0), 0, where(q.eq(0), Number.POSITIVE_INFINITY, terms));
}

function normals(p: Normal, q: Normal): Tensor {
  const ratio = p.scale.div(q.scale).square();
  const shift = p.loc.sub(q.loc).div(q.scale).square();
  return ratio.add(shift).sub(1).sub(log(ratio)).mul(0.5);
}

/** The pairs that are built in; made when first asked for, so that importing this file does nothing. */
function builtInPairs(): Pair[] {
  return [
    pair(Normal, Normal, normals),
    pair(LogNormal, LogNormal, (p, q) => normals(p.base, q.base)),
    pair(Bernoulli, Bernoulli, (p, q) => {
      const success = p.probs.mul(softplus(q.logits.neg()).sub(softplus(p.logits.neg())));
      const [failP, failQ] = [p.probs.neg().add(1), q.probs.neg().add(1)];
      const failure = failP.mul(softplus(q.logits).sub(softplus(p.logits)));
      return guarded(success, p.probs, q.probs).add(guarded(failure, failP, failQ));
    }),
    pair(Categorical, Categorical, (p, q) =>
      guarded(p.probs.mul(p.logits.sub(q.logits)), p.probs, q.probs).sum(-1),
    ),
    pair(Uniform, Uniform, (p, q) => {
      const outside = q.low.gt(p.low).logicalOr(q.high.lt(p.high));
      const ratio = log(q.high.sub(q.low).div(p.high.sub(p.low)));
      return where(outside, Number.POSITIVE_INFINITY, ratio);
    }),
    pair(Exponential, Exponential, (p, q) => {
      const ratio = q.rate.div(p.rate);
      return ratio.sub(log(ratio)).sub(1);
    }),
    pair(Gamma, Gamma, (p, q) => {
      const [a, b] = [p.concentration, q.concentration];
      return b
        .mul(log(p.rate.div(q.rate)))
        .add(lgamma(b).sub(lgamma(a)))
        .add(a.sub(b).mul(digamma(a)))
        .add(q.rate.sub(p.rate).mul(a.div(p.rate)));
    }),
    pair(Beta, Beta, (p, q) => {
      const [p1, p0, q1, q0] = [
        p.concentration1,
        p.concentration0,
        q.concentration1,
        q.concentration0,
      ];
      const [sumP, sumQ] = [p1.add(p0), q1.add(q0)];
      return lgamma(q1)
        .add(lgamma(q0))
        .add(lgamma(sumP))
        .sub(lgamma(p1).add(lgamma(p0)).add(lgamma(sumQ)))
        .add(p1.sub(q1).mul(digamma(p1)))
        .add(p0.sub(q0).mul(digamma(p0)))
        .add(sumQ.sub(sumP).mul(digamma(sumP)));
    }),
    pair(Dirichlet, Dirichlet, (p, q) => {
      const [a, b] = [p.concentration, q.concentration];
      const sumP = a.sum(-1);
      const slope = digamma(a).sub(digamma(sumP).unsqueeze(-1));
      return lgamma(sumP)
        .sub(lgamma(b.sum(-1)))
        .sub(lgamma(a).sub(lgamma(b)).sum(-1))
        .add(a.sub(b).mul(slope).sum(-1));
    }),
    pair(Laplace, Laplace, (p, q) => {
      const ratio = p.scale.div(q.scale);
      const distance = abs(p.loc.sub(q.loc));
      return distance
        .div(q.scale)
        .sub(log(ratio))
        .add(ratio.mul(exp(distance.neg().div(p.scale))))
        .sub(1);
    }),
    pair(Cauchy, Cauchy, (p, q) => {
      const spread = p.scale.add(q.scale).square().add(p.loc.sub(q.loc).square());
      return log(spread).sub(log(p.scale.mul(q.scale).mul(4)));
    }),
    pair(Gumbel, Gumbel, (p, q) => {
      const ratio = p.scale.div(q.scale);
      const apart = p.loc.sub(q.loc).div(q.scale);
      return exp(lgamma(ratio.add(1)).sub(apart))
        .add(apart)
        .sub(log(ratio))
        .add(ratio.mul(EULER))
        .sub(1 + EULER);
    }),
    pair(Pareto, Pareto, (p, q) => {
      const ratio = q.alpha.div(p.alpha);
      const inside = q.alpha
        .mul(log(p.scale.div(q.scale)))
        .sub(log(ratio))
        .add(ratio)
        .sub(1);
      return where(p.scale.lt(q.scale), Number.POSITIVE_INFINITY, inside);
    }),
    pair(Poisson, Poisson, (p, q) =>
      p.rate.mul(log(p.rate).sub(log(q.rate))).sub(p.rate.sub(q.rate)),
    ),
    pair(Geometric, Geometric, (p, q) =>
      p.entropy().neg().sub(log1p(q.probs.neg()).div(p.probs)).sub(q.logits),
    ),
    pair(Binomial, Binomial, (p, q) => {
      const each = p.probs
        .mul(p.logits.sub(q.logits))
        .add(log1p(p.probs.neg()))
        .sub(log1p(q.probs.neg()));
      const [m, n] = [p.totalCount, q.totalCount];
      // No formula for fewer trials than the other's.
      const sure = where(m.gt(n), Number.POSITIVE_INFINITY, m.mul(each));
      return where(m.lt(n), Number.NaN, sure);
    }),
    pair(MultivariateNormal, MultivariateNormal, (p, q) => {
      const size = p.eventShape[0]!;
      const sizes = p.loc.sub(q.loc).sizes.slice(0, -1);
      const [lp, lq] = [p.scaleTril, q.scaleTril].map((l) => expand(l, [...sizes, size, size]));
      const spread = solveTriangular(lq!, lp!, { upper: false }).square().sum([-2, -1]);
      const shift = mahalanobis(q.scaleTril, q.loc.sub(p.loc));
      return halfLogDet(q.scaleTril)
        .sub(halfLogDet(p.scaleTril))
        .add(spread.add(shift).sub(size).mul(0.5));
    }),
    ...familyPairs(),
    ...tailPairs(),
    ...lowRankPairs(),
    pair(OneHotCategorical, OneHotCategorical, (p, q) =>
      klDivergence(p.categorical, q.categorical),
    ),
    pair(HalfNormal, HalfNormal, (p, q) => klDivergence(p.base, q.base)),
    pair(HalfCauchy, HalfCauchy, (p, q) => klDivergence(p.base, q.base)),
    pair(InverseGamma, InverseGamma, (p, q) => klDivergence(p.base, q.base)),
    pair(TransformedDistribution, TransformedDistribution, (p, q) => {
      const isSame =
        new ComposeTransform(p.transforms).equals(new ComposeTransform(q.transforms)) &&
        formatSizes(p.eventShape) === formatSizes(q.eventShape);
      if (!isSame) throw unknownPair(p, q);
      return klDivergence(p.base, q.base);
    }),
    pair(Independent, Independent, (p, q) => {
      const count = p.reinterpretedBatchNdims;
      if (count !== q.reinterpretedBatchNdims) throw unknownPair(p, q);
      return sumRightmost(klDivergence(p.base, q.base), count);
    }),
  ];
}

const registered: Pair[] = [];
let builtIn: readonly Pair[] | null = null;

/** Registers the divergence for two classes, and those that inherit from them; later ones come first. @see torch.distributions.register_kl */
export function registerKl<P extends Distribution, Q extends Distribution>(
  p: DistributionClass<P>,
  q: DistributionClass<Q>,
  formula: (p: P, q: Q) => Tensor,
): void {
  registered.unshift(pair(p, q, formula));
}

function unknownPair(p: Distribution, q: Distribution): TesseraError {
  return new TesseraError(
    'invalid-argument',
    `No KL(p || q) is implemented for p type ${p.constructor.name} and q type ${q.constructor.name}.`,
    { hints: ['Register one: registerKl(P, Q, (p, q) => …).'] },
  );
}

/**
 * The Kullback–Leibler divergence of `q` from `p`, ∫ p log(p / q), [batch].
 *
 * @throws invalid-argument if no formula is registered for the two classes
 * @see torch.distributions.kl_divergence
 */
export function klDivergence(p: Distribution, q: Distribution): Tensor {
  for (const each of [p, q])
    if (!(each instanceof Distribution))
      throw new TesseraError(
        'invalid-argument',
        `KL is between distributions, not of ${String(each)}.`,
        {
          hints: ['Write klDivergence(new Normal(0, 1), new Normal(1, 1)).'],
        },
      );
  const found = [...registered, ...(builtIn ??= builtInPairs())].find(
    ([P, Q]) => p instanceof P && q instanceof Q,
  );
  const divergence = found === undefined ? p.divergenceTo(q) : found[2](p, q);
  if (divergence === null) throw unknownPair(p, q);
  return divergence;
}
