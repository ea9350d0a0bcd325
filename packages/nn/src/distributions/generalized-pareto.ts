/**
 * @file `GeneralizedPareto`: what exceeds a threshold.
 */
import {
  type Tensor,
  exp,
  expm1,
  isclose,
  log,
  log1p,
  rand,
  where,
  zerosLike,
} from '@tessera/tensor';
import { type Constraint, interval, positive, real } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/**
 * Exponential above `loc` for a concentration of 0, with a heavier tail for more and a bounded one for less.
 *
 * @see torch.distributions.GeneralizedPareto
 */
export class GeneralizedPareto extends Distribution {
  readonly loc: Tensor;
  readonly scale: Tensor;
  readonly concentration: Tensor;

  /** @throws invalid-argument unless scales are positive */
  constructor(
    loc: ParameterLike,
    scale: ParameterLike,
    concentration: ParameterLike,
    options: DistributionOptions = {},
  ) {
    const [l, s, c] = broadcastAll(loc, scale, concentration);
    super(l.sizes, [], options);
    this.checkParameter('loc', l, real);
    this.checkParameter('scale', s, positive);
    this.checkParameter('concentration', c, real);
    this.loc = l;
    this.scale = s;
    this.concentration = c;
  }

  /** Where the concentration is 0, and one to divide by. */
  private safe(): { readonly isZero: Tensor; readonly c: Tensor } {
    const { concentration } = this;
    const isZero = isclose(concentration, zerosLike(concentration));
    return { isZero, c: where(isZero, 1, concentration) };
  }

  get support(): Constraint {
    const { loc, scale, concentration: c } = this;
    return interval(loc, where(c.lt(0), loc.sub(scale.div(c)), Number.POSITIVE_INFINITY));
  }
  /** NaN from a concentration of 1 on. */
  get mean(): Tensor {
    const valid = this.concentration.lt(1);
    const c = where(valid, this.concentration, 0.5);
    return where(valid, this.loc.add(this.scale.div(c.neg().add(1))), Number.NaN);
  }
  /** NaN from a concentration of ½ on. */
  get variance(): Tensor {
    const valid = this.concentration.lt(0.5);
    const c = where(valid, this.concentration, 0.25);
    const spread = c.neg().add(1).square().mul(c.mul(-2).add(1));
    return where(valid, this.scale.square().div(spread), Number.NaN);
  }
  override get mode(): Tensor {
    return this.loc;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    return this.icdf(rand(this.extended(sampleShape), { dtype, device }));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const z = value.sub(this.loc).div(this.scale);
    const { isZero, c } = this.safe();
    const y = c.reciprocal().add(1);
    const tail = where(y.eq(0), y, y.mul(log1p(c.mul(z))));
    return log(this.scale)
      .neg()
      .sub(where(isZero, z, tail));
  }

  override entropy(): Tensor {
    return log(this.scale).add(this.concentration).add(1);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    const z = value.sub(this.loc).div(this.scale);
    const { isZero, c } = this.safe();
    const survival = where(isZero, z, log1p(c.mul(z)).div(c)).neg();
    return exp(log1p(exp(survival).neg()));
  }

  override icdf(value: Tensor): Tensor {
    const { loc, scale } = this;
    const { isZero, c } = this.safe();
    const logs = log1p(value.neg());
    const tail = loc.add(scale.div(c).mul(expm1(c.neg().mul(logs))));
    return where(isZero, loc.sub(scale.mul(logs)), tail);
  }
}
