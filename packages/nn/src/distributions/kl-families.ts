/**
 * @file The divergences of distributions of two families that have a formula, as PyTorch has them.
 */
import { type Tensor, digamma, erf, exp, fullLike, lgamma, log, xlogy } from '@tessera/tensor';
import { Bernoulli, Binomial } from './bernoulli.js';
import { Beta } from './dirichlet.js';
import type { Distribution } from './distribution.js';
import { Exponential } from './exponential.js';
import { EULER } from './extreme-value.js';
import { Gamma } from './gamma.js';
import { Laplace } from './laplace.js';
import { Normal } from './normal.js';
import { Poisson } from './poisson.js';
import { Uniform } from './uniform.js';

/** A class of distributions. */
export type DistributionClass<D extends Distribution = Distribution> = abstract new (
  ...args: never[]
) => D;

export type Pair = readonly [
  p: DistributionClass,
  q: DistributionClass,
  // Of the two classes: as a method's, its parameters may be narrower.
  formula: { formula(p: Distribution, q: Distribution): Tensor }['formula'],
];

export function pair<P extends Distribution, Q extends Distribution>(
  p: DistributionClass<P>,
  q: DistributionClass<Q>,
  formula: (p: P, q: Q) => Tensor,
): Pair {
  return [p, q, formula];
}

/** Values of `p` lie where `q` has none. */
export function infinite(p: DistributionClass, ...others: readonly DistributionClass[]): Pair[] {
  return others.map((q) => pair(p, q, ({ mean }) => fullLike(mean, Number.POSITIVE_INFINITY)));
}

/** `value`, or infinity where `p` has values that `q` has not. */
export function orInfinite(outside: Tensor, value: Tensor): Tensor {
  return value.maskedFill(outside, Number.POSITIVE_INFINITY);
}

/** log Γ(c) - c log(rate): what the density of a gamma distribution is divided by. */
export function gammaNorm({ concentration: c, rate }: Gamma): Tensor {
  return lgamma(c).sub(c.mul(log(rate)));
}

/** (square / 2 - loc · mean + loc² / 2) / variance, of a mean and mean square seen by a normal distribution. */
export function seenByNormal(mean: Tensor, square: Tensor, { loc, variance }: Normal): Tensor {
  return square.mul(0.5).sub(loc.mul(mean)).add(loc.square().mul(0.5)).div(variance);
}

/** The mean of log x where x is uniform. */
export function meanLog(low: Tensor, high: Tensor): Tensor {
  const width = high.sub(low);
  return xlogy(high, high).sub(xlogy(low, low)).sub(width).div(width);
}

/** See the file header. */
export function familyPairs(): Pair[] {
  return [
    ...infinite(Exponential, Beta, Uniform),
    ...infinite(Gamma, Beta, Uniform),
    ...infinite(Laplace, Beta, Exponential, Gamma, Uniform),
    ...infinite(Normal, Beta, Exponential, Gamma, Uniform),
    ...infinite(Poisson, Bernoulli, Binomial),
    pair(Bernoulli, Poisson, (p, q) =>
      p
        .entropy()
        .neg()
        .sub(p.probs.mul(log(q.rate)).sub(q.rate)),
    ),
    pair(Beta, Exponential, (p, q) => p.entropy().neg().sub(log(q.rate)).add(q.rate.mul(p.mean))),
    pair(Beta, Gamma, (p, q) => {
      const logMean = digamma(p.concentration1).sub(
        digamma(p.concentration1.add(p.concentration0)),
      );
      return p
        .entropy()
        .neg()
        .add(gammaNorm(q))
        .sub(q.concentration.sub(1).mul(logMean))
        .add(q.rate.mul(p.mean));
    }),
    pair(Beta, Normal, (p, q) => {
      const { mean } = p;
      const half = log(q.variance.mul(2 * Math.PI)).mul(0.5);
      return p
        .entropy()
        .neg()
        .add(half)
        .add(seenByNormal(mean, p.variance.add(mean.square()), q));
    }),
    pair(Beta, Uniform, (p, q) =>
      orInfinite(
        q.low.gt(0).logicalOr(q.high.lt(1)),
        p
          .entropy()
          .neg()
          .add(log(q.high.sub(q.low))),
      ),
    ),
    pair(Exponential, Gamma, (p, q) => {
      const ratio = q.rate.div(p.rate);
      const c = q.concentration;
      return ratio
        .sub(c.mul(log(ratio)))
        .add(lgamma(c))
        .add(c.mul(EULER))
        .sub(1 + EULER);
    }),
    pair(Exponential, Normal, (p, q) => {
      const square = p.rate.square();
      return log(square.mul(q.variance).mul(2 * Math.PI))
        .mul(0.5)
        .sub(1)
        .add(seenByNormal(p.rate.reciprocal(), square.reciprocal().mul(2), q));
    }),
    pair(Gamma, Exponential, (p, q) =>
      q.rate.mul(p.concentration).div(p.rate).sub(p.entropy()).sub(log(q.rate)),
    ),
    pair(Gamma, Normal, (p, q) => {
      const { concentration: c, rate, mean } = p;
      return log(
        rate
          .square()
          .mul(q.variance)
          .mul(2 * Math.PI),
      )
        .mul(0.5)
        .sub(c)
        .sub(lgamma(c))
        .add(c.sub(1).mul(digamma(c)))
        .add(seenByNormal(mean, p.variance.add(mean.square()), q));
    }),
    pair(Laplace, Normal, (p, q) => {
      const ratio = p.scale.square().div(q.variance);
      const shift = p.loc.sub(q.loc).square().mul(0.5).div(q.variance);
      return ratio
        .sub(log(ratio.mul(2 / Math.PI)).mul(0.5))
        .add(shift)
        .sub(1);
    }),
    pair(Normal, Laplace, (p, q) => {
      const distance = p.loc.sub(q.loc);
      const apart = distance.div(p.scale);
      const near = p.scale.mul(Math.sqrt(2 / Math.PI)).mul(exp(apart.square().mul(-0.5)));
      return near
        .add(distance.mul(erf(apart.mul(Math.SQRT1_2))))
        .div(q.scale)
        .sub(log(p.scale.div(q.scale)))
        .sub(0.5 * (1 + Math.log(0.5 * Math.PI)));
    }),
    pair(Uniform, Beta, ({ low, high }, q) => {
      const [a, b] = [q.concentration1, q.concentration0];
      const norm = lgamma(a)
        .add(lgamma(b))
        .sub(lgamma(a.add(b)));
      const fromOne = meanLog(high.neg().add(1), low.neg().add(1));
      const inside = norm
        .sub(log(high.sub(low)))
        .sub(a.sub(1).mul(meanLog(low, high)))
        .sub(b.sub(1).mul(fromOne));
      return orInfinite(high.gt(1).logicalOr(low.lt(0)), inside);
    }),
    pair(Uniform, Exponential, ({ low, high, mean }, { rate }) =>
      orInfinite(low.lt(0), rate.mul(mean).sub(log(high.sub(low).mul(rate)))),
    ),
    pair(Uniform, Gamma, ({ low, high, mean }, q) => {
      const inside = gammaNorm(q)
        .sub(log(high.sub(low)))
        .sub(q.concentration.sub(1).mul(meanLog(low, high)))
        .add(q.rate.mul(mean));
      return orInfinite(low.lt(0), inside);
    }),
    pair(Uniform, Normal, (p, q) => {
      const width = p.high.sub(p.low);
      const shift = p.high.add(p.low).sub(q.loc.mul(2)).div(2).square();
      return log(q.scale.mul(Math.sqrt(2 * Math.PI)).div(width)).add(
        width.square().div(12).add(shift).mul(0.5).div(q.variance),
      );
    }),
  ];
}
