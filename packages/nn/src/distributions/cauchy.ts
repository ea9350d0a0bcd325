/**
 * @file `Cauchy`.
 */
import { type Tensor, atan, fullLike, log, log1p, rand, tan } from '@tessera/tensor';
import { LocationScale } from './location-scale.js';

/** Density 1 / (π scale (1 + ((x - loc) / scale)²)). @see torch.distributions.Cauchy */
export class Cauchy extends LocationScale {
  /** There is none: NaN. */
  override get mean(): Tensor {
    return fullLike(this.loc, Number.NaN);
  }
  get variance(): Tensor {
    return fullLike(this.loc, Number.POSITIVE_INFINITY);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    return this.icdf(rand(this.extended(sampleShape), { dtype, device }));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const squared = value.sub(this.loc).div(this.scale).square();
    return log(this.scale).neg().sub(Math.log(Math.PI)).sub(log1p(squared));
  }

  override entropy(): Tensor {
    return log(this.scale).add(Math.log(4 * Math.PI));
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return atan(value.sub(this.loc).div(this.scale)).div(Math.PI).add(0.5);
  }

  override icdf(value: Tensor): Tensor {
    return tan(value.sub(0.5).mul(Math.PI)).mul(this.scale).add(this.loc);
  }
}
