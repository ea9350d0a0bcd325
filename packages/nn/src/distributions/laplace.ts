/**
 * @file `Laplace`.
 */
import { type Tensor, abs, expm1, log, log1p, rand, sign } from '@tessera/tensor';
import { LocationScale } from './location-scale.js';

/** Density exp(-|x - loc| / scale) / (2 scale). @see torch.distributions.Laplace */
export class Laplace extends LocationScale {
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
