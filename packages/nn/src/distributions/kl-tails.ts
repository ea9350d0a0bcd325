/**
 * @file Divergences from and to Gumbel's and Pareto's distribution and the continuous Bernoulli one, as PyTorch has them.
 */
import { type Tensor, digamma, exp, lgamma, log, log1p, pow } from '@tessera/tensor';
import { ContinuousBernoulli } from './continuous-bernoulli.js';
import { Beta } from './dirichlet.js';
import { Exponential } from './exponential.js';
import { EULER, Gumbel, Pareto } from './extreme-value.js';
import { Gamma } from './gamma.js';
import {
  type Pair,
  gammaNorm,
  infinite,
  meanLog,
  orInfinite,
  pair,
  seenByNormal,
} from './kl-families.js';
import { Laplace } from './laplace.js';
import { Normal } from './normal.js';
import { Uniform } from './uniform.js';

/** log(√(2π) · deviation) */
function logWidth({ scale }: Normal): Tensor {
  return log(scale).add(0.5 * Math.log(2 * Math.PI));
}

/** What a distribution between 0 and 1 has of a continuous Bernoulli one. */
function seenByContinuousBernoulli(p: Beta | Uniform, q: ContinuousBernoulli): Tensor {
  return p.entropy().neg().sub(p.mean.mul(q.logits)).sub(log1p(q.probs.neg())).sub(q.logNorm);
}

/** See the file header. */
export function tailPairs(): Pair[] {
  return [
    ...infinite(Beta, Pareto),
    ...infinite(ContinuousBernoulli, Pareto),
    ...infinite(Exponential, ContinuousBernoulli, Pareto),
    ...infinite(Gamma, ContinuousBernoulli, Pareto),
    ...infinite(Gumbel, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    ...infinite(Laplace, ContinuousBernoulli, Pareto),
    ...infinite(Normal, ContinuousBernoulli, Pareto),
    ...infinite(Pareto, Beta, ContinuousBernoulli, Uniform),
    pair(ContinuousBernoulli, ContinuousBernoulli, (p, q) =>
      p.mean
        .mul(p.logits.sub(q.logits))
        .add(p.logNorm)
        .add(log1p(p.probs.neg()))
        .sub(q.logNorm)
        .sub(log1p(q.probs.neg())),
    ),
    pair(Beta, ContinuousBernoulli, seenByContinuousBernoulli),
    pair(ContinuousBernoulli, Exponential, (p, q) =>
      p.entropy().neg().sub(log(q.rate)).add(q.rate.mul(p.mean)),
    ),
    pair(ContinuousBernoulli, Normal, (p, q) => {
      const { mean } = p;
      const square = p.variance.add(mean.square());
      return p
        .entropy()
        .neg()
        .add(logWidth(q))
        .add(seenByNormal(mean, square, q));
    }),
    // PyTorch's bounds are without equality: whatever ends at 0 or 1 is outside.
    pair(ContinuousBernoulli, Uniform, (p, q) =>
      orInfinite(
        q.low.ge(0).logicalOr(q.high.le(1)),
        p
          .entropy()
          .neg()
          .add(log(q.high.sub(q.low))),
      ),
    ),
    pair(Uniform, ContinuousBernoulli, (p, q) =>
      orInfinite(p.high.ge(1).logicalOr(p.low.le(0)), seenByContinuousBernoulli(p, q)),
    ),
    pair(Exponential, Gumbel, (p, q) => {
      const product = p.rate.mul(q.scale);
      const place = q.loc.div(q.scale);
      return log(product)
        .sub(1)
        .sub(place)
        .add(exp(place).mul(product).div(product.add(1)))
        .add(product.reciprocal());
    }),
    pair(Gamma, Gumbel, (p, q) => {
      const { concentration: c } = p;
      const product = p.rate.mul(q.scale);
      const place = q.loc.div(q.scale);
      return c
        .sub(1)
        .mul(digamma(c))
        .sub(lgamma(c))
        .sub(c)
        .add(log(product))
        .add(c.div(product))
        .add(exp(place).mul(pow(product.reciprocal().add(1), c.neg())))
        .sub(place);
    }),
    pair(Gumbel, Normal, (p, q) => {
      const ratio = p.scale.div(q.scale);
      const shift = p.mean.sub(q.loc).div(q.scale).square().mul(0.5);
      return log(ratio.div(Math.sqrt(2 * Math.PI)))
        .neg()
        .add(
          ratio
            .mul(Math.PI / 2)
            .square()
            .div(3),
        )
        .add(shift)
        .sub(EULER + 1);
    }),
    pair(Normal, Gumbel, (p, q) => {
      const ratio = p.scale.div(q.scale).square();
      const shift = p.loc.sub(q.loc).div(q.scale);
      return shift
        .sub(log(ratio).mul(0.5))
        .add(exp(ratio.mul(0.5).sub(shift)))
        .sub(0.5 * (1 + Math.log(2 * Math.PI)));
    }),
    pair(Pareto, Exponential, ({ alpha, scale }, { rate }) => {
      const product = scale.mul(rate);
      const inside = log(alpha.div(product))
        .sub(alpha.reciprocal())
        .add(alpha.mul(product).div(alpha.sub(1)))
        .sub(1);
      return orInfinite(alpha.le(1), inside);
    }),
    pair(Pareto, Gamma, ({ alpha, scale }, q) => {
      const logMean = log(scale).add(alpha.reciprocal());
      const inside = log(alpha)
        .sub(logMean)
        .add(gammaNorm(q))
        .add(q.concentration.neg().add(1).mul(logMean))
        .add(q.rate.mul(alpha).mul(scale).div(alpha.sub(1)))
        .sub(1);
      return orInfinite(alpha.le(1), inside);
    }),
    pair(Pareto, Normal, ({ alpha, scale }, q) => {
      const apart = scale.div(alpha.sub(1));
      const spread = alpha.mul(apart.square()).div(alpha.sub(2));
      const shift = alpha.mul(apart).sub(q.loc).square();
      const inside = log(alpha.div(scale))
        .add(logWidth(q))
        .sub(alpha.reciprocal())
        .add(spread.add(shift).div(q.variance.mul(2)))
        .sub(1);
      return orInfinite(alpha.le(2), inside);
    }),
    pair(Uniform, Gumbel, (p, q) => {
      const ratio = q.scale.div(p.high.sub(p.low));
      const high = p.high.sub(q.loc).div(q.scale);
      const low = p.low.sub(q.loc).div(q.scale);
      return log(ratio)
        .add(high.add(low).mul(0.5))
        .sub(ratio.mul(exp(high.neg()).sub(exp(low.neg()))));
    }),
    pair(Uniform, Pareto, ({ low, high }, { alpha, scale }) => {
      const norm = log(alpha.mul(pow(scale, alpha)).mul(high.sub(low)));
      return orInfinite(low.lt(scale), meanLog(low, high).mul(alpha.add(1)).sub(norm));
    }),
  ];
}
