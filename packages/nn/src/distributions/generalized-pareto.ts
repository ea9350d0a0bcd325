/**
 * @file `GeneralizedPareto`: what lies beyond a threshold, with a tail that is a power, exponential or bounded.
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
 * Density (1 + concentration · z)^(-1 / concentration - 1) / scale of z = (x - loc) / scale: exponential of a
 * concentration 0, bounded above of a negative one.
 *
 * @see torch.distributions.GeneralizedPareto
 */
export class GeneralizedPareto extends Distribution {
  readonly loc: Tensor;
  readonly scale: Tensor;
  readonly concentration: Tensor;

  /** @throws invalid-argument unless the scale is positive */
  constructor(
    loc: ParameterLike,
    scale: ParameterLike,
    concentration: ParameterLike,
    options: DistributionOptions = {},
  ) {
    const [l, s, c] = broadcastAll(loc, scale, concentration);
    super(l.sizes, [], options);
    this.loc = l;
    this.scale = s;
    this.concentration = c;
    this.checkParameter('loc', l, real);
    this.checkParameter('scale', s, positive);
    this.checkParameter('concentration', c, real);
  }

  get support(): Constraint {
    const { loc, scale, concentration: c } = this;
    const isBounded = c.lt(0);
    const upper = loc.sub(scale.div(where(isBounded, c, -1)));
    return interval(loc, where(isBounded, upper, Number.POSITIVE_INFINITY));
  }
  /** NaN where the concentration is 1 or more. */
  get mean(): Tensor {
    const { loc, scale, concentration: c } = this;
    const isFinite = c.lt(1);
    const mean = loc.add(scale.div(where(isFinite, c, 0.5).neg().add(1)));
    return where(isFinite, mean, Number.NaN);
  }
  /** NaN where the concentration is a half or more. */
  get variance(): Tensor {
    const isFinite = this.concentration.lt(0.5);
    const c = where(isFinite, this.concentration, 0.25);
    const below = c.neg().add(1).square().mul(c.mul(-2).add(1));
    return where(isFinite, this.scale.square().div(below), Number.NaN);
  }
  override get mode(): Tensor {
    return this.loc;
  }

  /** Where the concentration is 0, and one that may be divided by. */
  private safe(): readonly [isZero: Tensor, concentration: Tensor] {
    const { concentration: c } = this;
    const isZero = isclose(c, zerosLike(c));
    return [isZero, where(isZero, 1, c)];
  }
  private standard(value: Tensor): Tensor {
    return value.sub(this.loc).div(this.scale);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    return this.icdf(rand(this.extended(sampleShape), { dtype, device }));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const z = this.standard(value);
    const [isZero, c] = this.safe();
    const power = c.reciprocal().add(1);
    // Uniform where the power is 0.
    const tail = where(power.eq(0), 0, power.mul(log1p(c.mul(z))));
    return where(isZero, z, tail).add(log(this.scale)).neg();
  }

  /** log P(x > value). */
  logSurvivalFunction(value: Tensor): Tensor {
    this.checkValue(value);
    const z = this.standard(value);
    const [isZero, c] = this.safe();
    return where(isZero, z, log1p(c.mul(z)).div(c)).neg();
  }

  /** log P(x ≤ value). */
  logCdf(value: Tensor): Tensor {
    return log1p(exp(this.logSurvivalFunction(value)).neg());
  }

  override cdf(value: Tensor): Tensor {
    return exp(this.logCdf(value));
  }

  override icdf(value: Tensor): Tensor {
    const { loc, scale } = this;
    const [isZero, c] = this.safe();
    const logRest = log1p(value.neg());
    const bent = loc.add(scale.div(c).mul(expm1(c.mul(logRest).neg())));
    return where(isZero, loc.sub(scale.mul(logRest)), bent);
  }

  override entropy(): Tensor {
    return log(this.scale).add(this.concentration).add(1);
  }
}
