/**
 * @file `Gumbel` and `Weibull`: largest and smallest of many; `Pareto`: tails that fall as a power.
 */
import { type Tensor, clampMin, exp, expm1, lgamma, log, log1p, rand } from '@tessera/tensor';
import { type Constraint, greaterThanEq, positive } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';
import { LocationScale } from './location-scale.js';
import { insideUnit } from './transforms-elementwise.js';

/** Euler's constant γ. */
export const EULER = 0.5772156649015328606;

/** The largest of many: distribution function exp(-exp(-(x - loc) / scale)). @see torch.distributions.Gumbel */
export class Gumbel extends LocationScale {
  override get mean(): Tensor {
    return this.loc.add(this.scale.mul(EULER));
  }
  override get stddev(): Tensor {
    return this.scale.mul(Math.PI / Math.sqrt(6));
  }
  get variance(): Tensor {
    return this.stddev.square();
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    return this.icdf(insideUnit(rand(this.extended(sampleShape), { dtype, device })));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const y = this.loc.sub(value).div(this.scale);
    return y.sub(exp(y)).sub(log(this.scale));
  }

  override entropy(): Tensor {
    return log(this.scale).add(1 + EULER);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return exp(exp(this.loc.sub(value).div(this.scale)).neg());
  }

  override icdf(value: Tensor): Tensor {
    return this.loc.sub(this.scale.mul(log(log(value).neg())));
  }
}

/** The smallest of many: distribution function 1 - exp(-(x / scale)^concentration). @see torch.distributions.Weibull */
export class Weibull extends Distribution {
  readonly scale: Tensor;
  readonly concentration: Tensor;

  /** @throws invalid-argument unless both are positive */
  constructor(
    scale: ParameterLike,
    concentration: ParameterLike,
    options: DistributionOptions = {},
  ) {
    const [s, c] = broadcastAll(scale, concentration);
    super(s.sizes, [], options);
    this.scale = s;
    this.concentration = c;
    this.checkParameter('scale', s, positive);
    this.checkParameter('concentration', c, positive);
  }

  get support(): Constraint {
    return positive;
  }
  get mean(): Tensor {
    return this.scale.mul(exp(this.logMoment(1)));
  }
  get variance(): Tensor {
    const spread = exp(this.logMoment(2)).sub(exp(this.logMoment(1).mul(2)));
    return this.scale.square().mul(spread);
  }
  override get mode(): Tensor {
    const { scale, concentration: c } = this;
    return scale.mul(c.sub(1).div(c).pow(c.reciprocal()));
  }

  /** log Γ(1 + n / c), of E (x / scale)ⁿ. */
  private logMoment(n: number): Tensor {
    return lgamma(this.concentration.reciprocal().mul(n).add(1));
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.scale;
    return this.icdf(insideUnit(rand(this.extended(sampleShape), { dtype, device })));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { scale, concentration: c } = this;
    const part = log(value.div(scale));
    return log(c.div(scale))
      .add(c.sub(1).mul(part))
      .sub(exp(c.mul(part)));
  }

  override entropy(): Tensor {
    const inverse = this.concentration.reciprocal();
    return log(this.scale.mul(inverse)).add(inverse.neg().add(1).mul(EULER)).add(1);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return expm1(value.div(this.scale).pow(this.concentration).neg()).neg();
  }

  override icdf(value: Tensor): Tensor {
    return log1p(value.neg()).neg().pow(this.concentration.reciprocal()).mul(this.scale);
  }
}

/** Density alpha scale^alpha / x^(alpha + 1) from `scale` on. @see torch.distributions.Pareto */
export class Pareto extends Distribution {
  readonly scale: Tensor;
  readonly alpha: Tensor;

  /** @throws invalid-argument unless both are positive */
  constructor(scale: ParameterLike, alpha: ParameterLike, options: DistributionOptions = {}) {
    const [s, a] = broadcastAll(scale, alpha);
    super(s.sizes, [], options);
    this.scale = s;
    this.alpha = a;
    this.checkParameter('scale', s, positive);
    this.checkParameter('alpha', a, positive);
  }

  get support(): Constraint {
    return greaterThanEq(this.scale);
  }
  /** Infinite where alpha is at most 1. */
  get mean(): Tensor {
    const a = clampMin(this.alpha, 1);
    return a.mul(this.scale).div(a.sub(1));
  }
  /** Infinite where alpha is at most 2. */
  get variance(): Tensor {
    const a = clampMin(this.alpha, 2);
    return this.scale
      .square()
      .mul(a)
      .div(a.sub(1).square().mul(a.sub(2)));
  }
  override get mode(): Tensor {
    return this.scale;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.scale;
    return this.icdf(rand(this.extended(sampleShape), { dtype, device }));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { scale, alpha } = this;
    return log(alpha)
      .sub(alpha.mul(log(value.div(scale))))
      .sub(log(value));
  }

  override entropy(): Tensor {
    const { scale, alpha } = this;
    return log(scale.div(alpha)).add(alpha.reciprocal().add(1));
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return expm1(log(this.scale.div(value)).mul(this.alpha)).neg();
  }

  override icdf(value: Tensor): Tensor {
    return exp(log1p(value.neg()).neg().div(this.alpha)).mul(this.scale);
  }
}
