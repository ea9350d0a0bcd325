/**
 * @file Distributions that are made of gamma variables: `InverseGamma`, `FisherSnedecor`, `NegativeBinomial`.
 */
import {
  type Tensor,
  clampMin,
  digamma,
  exp,
  floor,
  lgamma,
  log,
  log1p,
  logSigmoid,
  noGrad,
  poisson,
  sigmoid,
  where,
} from '@tessera/tensor';
import {
  type Constraint,
  halfOpenInterval,
  nonnegative,
  nonnegativeInteger,
  positive,
  real,
} from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';
import { Gamma } from './gamma.js';
import {
  PROBS_OR_LOGITS,
  type ProbsOrLogits,
  logitsOf,
  probsOf,
  probsOrLogits,
} from './probs-or-logits.js';
import { limitsOf } from './transforms-elementwise.js';

/** 1 / x of gamma x. @see torch.distributions.InverseGamma */
export class InverseGamma extends Distribution {
  /** The distribution of x. */
  readonly base: Gamma;

  /** @throws invalid-argument unless both are positive */
  constructor(
    concentration: ParameterLike,
    rate: ParameterLike,
    options: DistributionOptions = {},
  ) {
    const base = new Gamma(concentration, rate, options);
    super(base.batchShape, [], options);
    this.base = base;
  }

  get concentration(): Tensor {
    return this.base.concentration;
  }
  get rate(): Tensor {
    return this.base.rate;
  }
  get support(): Constraint {
    return positive;
  }
  /** Infinite where the concentration is at most 1. */
  get mean(): Tensor {
    const { concentration: c, rate } = this;
    return where(c.gt(1), rate.div(c.sub(1)), Number.POSITIVE_INFINITY);
  }
  /** Infinite where the concentration is at most 2. */
  get variance(): Tensor {
    const { concentration: c, rate } = this;
    const finite = rate.square().div(c.sub(1).square()).div(c.sub(2));
    return where(c.gt(2), finite, Number.POSITIVE_INFINITY);
  }
  override get mode(): Tensor {
    return this.rate.div(this.concentration.add(1));
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    return this.base.rsample(sampleShape).reciprocal();
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    return this.base.logProb(value.reciprocal()).sub(log(value).mul(2));
  }

  override entropy(): Tensor {
    const { concentration: c, rate } = this;
    return c
      .add(log(rate))
      .add(lgamma(c))
      .sub(c.add(1).mul(digamma(c)));
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return this.base.cdf(value.reciprocal()).neg().add(1);
  }
}

/** The quotient of two chi-squared variables, each over its degrees of freedom. @see torch.distributions.FisherSnedecor */
export class FisherSnedecor extends Distribution {
  readonly df1: Tensor;
  readonly df2: Tensor;

  /** @throws invalid-argument unless both are positive */
  constructor(df1: ParameterLike, df2: ParameterLike, options: DistributionOptions = {}) {
    const [a, b] = broadcastAll(df1, df2);
    super(a.sizes, [], options);
    this.df1 = a;
    this.df2 = b;
    this.checkParameter('df1', a, positive);
    this.checkParameter('df2', b, positive);
  }

  get support(): Constraint {
    return positive;
  }
  /** NaN where df2 is at most 2. */
  get mean(): Tensor {
    const { df2 } = this;
    return where(df2.le(2), Number.NaN, df2.div(df2.sub(2)));
  }
  /** NaN where df2 is at most 4. */
  get variance(): Tensor {
    const { df1, df2 } = this;
    const above = df2.square().mul(df1.add(df2).sub(2)).mul(2);
    const below = df1.mul(df2.sub(2).square()).mul(df2.sub(4));
    return where(df2.le(4), Number.NaN, above.div(below));
  }
  /** NaN where df1 is at most 2. */
  override get mode(): Tensor {
    const { df1, df2 } = this;
    return where(df1.le(2), Number.NaN, df1.sub(2).div(df1).mul(df2).div(df2.add(2)));
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const [above, below] = [this.df1, this.df2].map((df) =>
      new Gamma(df.mul(0.5), df, { validateArgs: false }).rsample(sampleShape),
    );
    const [tiny] = limitsOf(this.df1);
    return clampMin(above!.div(clampMin(below!, tiny)), tiny);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const [a, b] = [this.df1.mul(0.5), this.df2.mul(0.5)];
    const ratio = this.df1.div(this.df2);
    const total = a.add(b);
    return lgamma(total)
      .sub(lgamma(a))
      .sub(lgamma(b))
      .add(a.mul(log(ratio)))
      .add(a.sub(1).mul(log(value)))
      .sub(total.mul(log1p(ratio.mul(value))));
  }
}

/** Successes before `totalCount` failures. @see torch.distributions.NegativeBinomial */
export class NegativeBinomial extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ProbsOrLogits, true>> =
    PROBS_OR_LOGITS;

  readonly totalCount: Tensor;
  private readonly given: 'probs' | 'logits';
  private readonly value: Tensor;

  /** @throws invalid-argument */
  constructor(totalCount: ParameterLike, options: ProbsOrLogits) {
    const { given, value, others } = probsOrLogits(new.target, options, totalCount);
    super(value.sizes, [], options);
    this.given = given;
    this.value = value;
    this.totalCount = others[0]!.to(value.dtype);
    this.checkParameter('totalCount', this.totalCount, nonnegative);
    this.checkParameter(given, value, given === 'probs' ? halfOpenInterval(0, 1) : real);
  }

  /** Probability of a success. */
  get probs(): Tensor {
    return this.given === 'probs' ? this.value : probsOf(this.value);
  }
  /** log p - log(1 - p) */
  get logits(): Tensor {
    return this.given === 'logits' ? this.value : logitsOf(this.value);
  }
  get support(): Constraint {
    return nonnegativeInteger;
  }
  get mean(): Tensor {
    return this.totalCount.mul(exp(this.logits));
  }
  get variance(): Tensor {
    return this.mean.div(sigmoid(this.logits.neg()));
  }
  override get mode(): Tensor {
    return clampMin(floor(this.totalCount.sub(1).mul(exp(this.logits))), 0);
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const rates = exp(this.logits.neg());
      const rate = new Gamma(this.totalCount, rates, { validateArgs: false });
      return poisson(rate.sample(sampleShape));
    });
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { totalCount: n, logits } = this;
    const outcomes = n.mul(logSigmoid(logits.neg())).add(value.mul(logSigmoid(logits)));
    const total = n.add(value);
    const orders = lgamma(value.add(1)).add(lgamma(n)).sub(lgamma(total));
    return outcomes.sub(where(total.eq(0), 0, orders));
  }
}
