/**
 * @file `Kumaraswamy`: like `Beta`, with a distribution function that can be written down.
 */
import { type Tensor, digamma, exp, expm1, lgamma, log, log1p, rand, where } from '@tessera/tensor';
import { type Constraint, positive, unitInterval } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';
import { EULER } from './extreme-value.js';
import { insideUnit } from './transforms-elementwise.js';

/** Distribution function 1 - (1 - x^a)^b. @see torch.distributions.Kumaraswamy */
export class Kumaraswamy extends Distribution {
  /** a */
  readonly concentration1: Tensor;
  /** b */
  readonly concentration0: Tensor;

  /** @throws invalid-argument unless both are positive */
  constructor(
    concentration1: ParameterLike,
    concentration0: ParameterLike,
    options: DistributionOptions = {},
  ) {
    const [a, b] = broadcastAll(concentration1, concentration0);
    super(a.sizes, [], options);
    this.concentration1 = a;
    this.concentration0 = b;
    this.checkParameter('concentration1', a, positive);
    this.checkParameter('concentration0', b, positive);
  }

  get support(): Constraint {
    return unitInterval;
  }
  get mean(): Tensor {
    return this.moment(1);
  }
  get variance(): Tensor {
    return this.moment(2).sub(this.mean.square());
  }
  /** NaN where one of both is below 1. */
  override get mode(): Tensor {
    const { concentration1: a, concentration0: b } = this;
    const value = b
      .reciprocal()
      .mul(log1p(b.neg()))
      .sub(log1p(b.mul(a).neg()));
    return exp(where(a.lt(1).logicalOr(b.lt(1)), Number.NaN, value));
  }

  /** E xⁿ */
  private moment(n: number): Tensor {
    const { concentration1: a, concentration0: b } = this;
    const shifted = a.reciprocal().mul(n).add(1);
    return b.mul(
      exp(
        lgamma(shifted)
          .add(lgamma(b))
          .sub(lgamma(shifted.add(b))),
      ),
    );
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.concentration0;
    return this.icdf(insideUnit(rand(this.extended(sampleShape), { dtype, device })));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { concentration1: a, concentration0: b } = this;
    const rest = log1p(value.pow(a).neg());
    return log(a)
      .add(log(b))
      .add(a.sub(1).mul(log(value)))
      .add(b.sub(1).mul(rest));
  }

  override entropy(): Tensor {
    const { concentration1: a, concentration0: b } = this;
    const harmonic = digamma(b.add(1)).add(EULER);
    const one = (c: Tensor): Tensor => c.reciprocal().neg().add(1);
    return one(b).add(one(a).mul(harmonic)).sub(log(a)).sub(log(b));
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return expm1(log1p(value.pow(this.concentration1).neg()).mul(this.concentration0)).neg();
  }

  override icdf(value: Tensor): Tensor {
    const { concentration1: a, concentration0: b } = this;
    return expm1(log1p(value.neg()).div(b)).neg().pow(a.reciprocal());
  }
}
