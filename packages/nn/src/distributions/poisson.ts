/**
 * @file `Poisson`.
 */
import { type Tensor, expand, floor, lgamma, noGrad, poisson, xlogy } from '@tessera/tensor';
import { type Constraint, nonnegative, nonnegativeInteger } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/** Counts of independent events, `rate` of them on average. @see torch.distributions.Poisson */
export class Poisson extends Distribution {
  readonly rate: Tensor;

  /** @throws invalid-argument unless rates are not negative */
  constructor(rate: ParameterLike, options: DistributionOptions = {}) {
    const [r] = broadcastAll(rate);
    super(r.sizes, [], options);
    this.rate = r;
    this.checkParameter('rate', r, nonnegative);
  }

  get support(): Constraint {
    return nonnegativeInteger;
  }
  get mean(): Tensor {
    return this.rate;
  }
  get variance(): Tensor {
    return this.rate;
  }
  override get mode(): Tensor {
    return floor(this.rate);
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => poisson(expand(this.rate, this.extended(sampleShape)).clone()));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    return xlogy(value, this.rate)
      .sub(this.rate)
      .sub(lgamma(value.add(1)));
  }
}
