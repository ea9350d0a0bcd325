/**
 * @file `Exponential`.
 */
import { type Tensor, exp, log, log1p, rand, reciprocal, zerosLike } from '@tessera/tensor';
import { type Constraint, nonnegative, positive } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/** Density rate · exp(-rate x). @see torch.distributions.Exponential */
export class Exponential extends Distribution {
  readonly rate: Tensor;

  /** @throws invalid-argument unless rates are positive */
  constructor(rate: ParameterLike, options: DistributionOptions = {}) {
    const [r] = broadcastAll(rate);
    super(r.sizes, [], options);
    this.rate = r;
    this.checkParameter('rate', r, positive);
  }

  get support(): Constraint {
    return nonnegative;
  }
  get mean(): Tensor {
    return reciprocal(this.rate);
  }
  get variance(): Tensor {
    return this.rate.pow(-2);
  }
  override get mode(): Tensor {
    return zerosLike(this.rate);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.rate;
    const uniform = rand(this.extended(sampleShape), { dtype, device });
    return log1p(uniform.neg()).neg().div(this.rate);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    return log(this.rate).sub(this.rate.mul(value));
  }

  override entropy(): Tensor {
    return log(this.rate).neg().add(1);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return exp(this.rate.mul(value).neg()).neg().add(1);
  }

  override icdf(value: Tensor): Tensor {
    return log1p(value.neg()).neg().div(this.rate);
  }
}
