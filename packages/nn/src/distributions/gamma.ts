/**
 * @file `Gamma` and `Chi2`.
 */
import {
  type Tensor,
  clampMin,
  digamma,
  expand,
  lgamma,
  log,
  standardGamma,
  xlogy,
} from '@tessera/tensor';
import { gammainc } from '@tessera/tensor/special';
import { type Constraint, nonnegative, positive } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/** Density rate^c x^(c-1) exp(-rate x) / Γ(c) with c the concentration. @see torch.distributions.Gamma */
export class Gamma extends Distribution {
  readonly concentration: Tensor;
  readonly rate: Tensor;

  /** @throws invalid-argument unless both are positive */
  constructor(
    concentration: ParameterLike,
    rate: ParameterLike,
    options: DistributionOptions = {},
  ) {
    const [c, r] = broadcastAll(concentration, rate);
    super(c.sizes, [], options);
    this.concentration = c;
    this.rate = r;
    this.checkParameter('concentration', c, positive);
    this.checkParameter('rate', r, positive);
  }

  get support(): Constraint {
    return nonnegative;
  }
  get mean(): Tensor {
    return this.concentration.div(this.rate);
  }
  get variance(): Tensor {
    return this.concentration.div(this.rate.square());
  }
  override get mode(): Tensor {
    return clampMin(this.concentration.sub(1).div(this.rate), 0);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const shapes = expand(this.concentration, this.extended(sampleShape));
    return standardGamma(shapes).div(this.rate);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { concentration: c, rate } = this;
    return xlogy(c, rate)
      .add(xlogy(c.sub(1), value))
      .sub(rate.mul(value))
      .sub(lgamma(c));
  }

  /** No gradient to the concentration, as in PyTorch. */
  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return gammainc(this.concentration, this.rate.mul(value));
  }

  override entropy(): Tensor {
    const { concentration: c, rate } = this;
    return c
      .sub(log(rate))
      .add(lgamma(c))
      .add(c.neg().add(1).mul(digamma(c)));
  }
}

/** Sums of `df` squared standard normal numbers. @see torch.distributions.Chi2 */
export class Chi2 extends Gamma {
  /** @throws invalid-argument unless df is positive */
  constructor(df: ParameterLike, options: DistributionOptions = {}) {
    const [degrees] = broadcastAll(df);
    super(degrees.mul(0.5), 0.5, options);
  }

  get df(): Tensor {
    return this.concentration.mul(2);
  }
}
