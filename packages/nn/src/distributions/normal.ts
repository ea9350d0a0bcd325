/**
 * @file `Normal` and `LogNormal`.
 */
import { type Tensor, erf, erfinv, exp, expm1, log, randn } from '@tessera/tensor';
import { type Constraint, positive } from './constraints.js';
import { Distribution, type DistributionOptions, type ParameterLike } from './distribution.js';
import { LocationScale } from './location-scale.js';

const LOG_ROOT_2PI = Math.log(2 * Math.PI) / 2;

/** Density exp(-(x - loc)² / 2 scale²) / (scale √2π). @see torch.distributions.Normal */
export class Normal extends LocationScale {
  get variance(): Tensor {
    return this.scale.square();
  }
  override get stddev(): Tensor {
    return this.scale;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    return randn(this.extended(sampleShape), { dtype, device }).mul(this.scale).add(this.loc);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const squared = value.sub(this.loc).square().div(this.variance.mul(2));
    return squared.neg().sub(log(this.scale)).sub(LOG_ROOT_2PI);
  }

  override entropy(): Tensor {
    return log(this.scale).add(0.5 + LOG_ROOT_2PI);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return erf(value.sub(this.loc).div(this.scale).div(Math.SQRT2)).add(1).mul(0.5);
  }

  override icdf(value: Tensor): Tensor {
    return this.loc.add(this.scale.mul(erfinv(value.mul(2).sub(1))).mul(Math.SQRT2));
  }
}

/** Numbers whose logarithms are normal. @see torch.distributions.LogNormal */
export class LogNormal extends Distribution {
  /** Distribution of the logarithms. */
  readonly base: Normal;

  /** @throws invalid-argument unless scales are positive */
  constructor(loc: ParameterLike, scale: ParameterLike, options: DistributionOptions = {}) {
    const base = new Normal(loc, scale, options);
    super(base.batchShape, [], options);
    this.base = base;
  }

  get loc(): Tensor {
    return this.base.loc;
  }
  get scale(): Tensor {
    return this.base.scale;
  }
  get support(): Constraint {
    return positive;
  }
  get mean(): Tensor {
    return exp(this.loc.add(this.base.variance.div(2)));
  }
  get variance(): Tensor {
    const { variance } = this.base;
    return expm1(variance).mul(exp(this.loc.mul(2).add(variance)));
  }
  override get mode(): Tensor {
    return exp(this.loc.sub(this.base.variance));
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    return exp(this.base.rsample(sampleShape));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    return this.base.logProb(log(value)).sub(log(value));
  }

  override entropy(): Tensor {
    return this.base.entropy().add(this.loc);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return this.base.cdf(log(value));
  }

  override icdf(value: Tensor): Tensor {
    return exp(this.base.icdf(value));
  }
}
