/**
 * @file `Laplace`.
 */
import { type Tensor, abs, expm1, log, log1p, rand, sign } from '@tessera/tensor';
import { type Constraint, positive, real } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/** Density exp(-|x - loc| / scale) / (2 scale). @see torch.distributions.Laplace */
export class Laplace extends Distribution {
  readonly loc: Tensor;
  readonly scale: Tensor;

  /** @throws invalid-argument unless scales are positive */
  constructor(loc: ParameterLike, scale: ParameterLike, options: DistributionOptions = {}) {
    const [l, s] = broadcastAll(loc, scale) as [Tensor, Tensor];
    super(l.sizes, [], options);
    this.loc = l;
    this.scale = s;
    this.checkParameter('loc', l, real);
    this.checkParameter('scale', s, positive);
  }

  get support(): Constraint {
    return real;
  }
  get mean(): Tensor {
    return this.loc;
  }
  get variance(): Tensor {
    return this.scale.square().mul(2);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    return this.icdf(rand(this.extended(sampleShape), { dtype, device }).clamp(2 ** -25, null));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const distance = abs(value.sub(this.loc)).div(this.scale);
    return log(this.scale.mul(2)).neg().sub(distance);
  }

  override entropy(): Tensor {
    return log(this.scale.mul(2)).add(1);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    const difference = value.sub(this.loc);
    const tail = expm1(abs(difference).neg().div(this.scale));
    return sign(difference).mul(tail).mul(-0.5).add(0.5);
  }

  override icdf(value: Tensor): Tensor {
    const side = value.sub(0.5);
    return this.loc.sub(this.scale.mul(sign(side)).mul(log1p(abs(side).mul(-2))));
  }
}
