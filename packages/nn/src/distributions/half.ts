/**
 * @file `HalfNormal` and `HalfCauchy`: sizes of numbers that are symmetric around 0.
 */
import { type Tensor, abs, fullLike, where, zerosLike } from '@tessera/tensor';
import { Cauchy } from './cauchy.js';
import { type Constraint, nonnegative, positive } from './constraints.js';
import { Distribution, type DistributionOptions, type ParameterLike } from './distribution.js';
import type { LocationScale } from './location-scale.js';
import { Normal } from './normal.js';

/** The distribution of |x|. */
abstract class Half extends Distribution {
  constructor(
    /** The distribution of x, around 0. */
    readonly base: LocationScale,
    options: DistributionOptions,
  ) {
    super(base.batchShape, [], options);
    this.checkParameter('scale', base.scale, positive);
  }

  get scale(): Tensor {
    return this.base.scale;
  }
  get support(): Constraint {
    return nonnegative;
  }
  override get mode(): Tensor {
    return zerosLike(this.scale);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    return abs(this.base.rsample(sampleShape));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    return where(value.ge(0), this.base.logProb(value).add(Math.LN2), Number.NEGATIVE_INFINITY);
  }

  override entropy(): Tensor {
    return this.base.entropy().sub(Math.LN2);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return this.base.cdf(value).mul(2).sub(1);
  }

  override icdf(value: Tensor): Tensor {
    return this.base.icdf(value.add(1).div(2));
  }
}

/** |x| of normal x around 0. @see torch.distributions.HalfNormal */
export class HalfNormal extends Half {
  /** @throws invalid-argument unless scales are positive */
  constructor(scale: ParameterLike, options: DistributionOptions = {}) {
    super(new Normal(0, scale, { validateArgs: false }), options);
  }
  get mean(): Tensor {
    return this.scale.mul(Math.sqrt(2 / Math.PI));
  }
  get variance(): Tensor {
    return this.scale.square().mul(1 - 2 / Math.PI);
  }
}

/** |x| of Cauchy's x around 0. @see torch.distributions.HalfCauchy */
export class HalfCauchy extends Half {
  /** @throws invalid-argument unless scales are positive */
  constructor(scale: ParameterLike, options: DistributionOptions = {}) {
    super(new Cauchy(0, scale, { validateArgs: false }), options);
  }
  get mean(): Tensor {
    return fullLike(this.scale, Number.POSITIVE_INFINITY);
  }
  get variance(): Tensor {
    return this.base.variance;
  }
}
