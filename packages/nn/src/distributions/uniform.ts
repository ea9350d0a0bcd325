/**
 * @file `Uniform`.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, clamp, log, logicalAnd, rand } from '@tessera/tensor';
import { activeMode } from '@tessera/tensor/internal';
import { type Constraint, interval } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/** Density 1 / (high - low) in [low, high). @see torch.distributions.Uniform */
export class Uniform extends Distribution {
  readonly low: Tensor;
  readonly high: Tensor;

  /** @throws invalid-argument unless low < high */
  constructor(low: ParameterLike, high: ParameterLike, options: DistributionOptions = {}) {
    const [l, h] = broadcastAll(low, high);
    super(l.sizes, [], options);
    this.low = l;
    this.high = h;
    if (this.validateArgs && activeMode([l, h]) === null && l.device === 'cpu' && !l.isFake)
      if (l.detach().ge(h.detach()).any().item() === 1)
        throw new TesseraError('invalid-argument', 'Uniform is not defined when low >= high', {
          hints: ['Give bounds with low < high.'],
        });
  }

  get support(): Constraint {
    return interval(this.low, this.high);
  }
  get mean(): Tensor {
    return this.high.add(this.low).div(2);
  }
  get variance(): Tensor {
    return this.width.square().div(12);
  }
  /** All are as probable: NaN. */
  override get mode(): Tensor {
    return this.high.mul(Number.NaN);
  }

  private get width(): Tensor {
    return this.high.sub(this.low);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.low;
    return rand(this.extended(sampleShape), { dtype, device }).mul(this.width).add(this.low);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const inside = logicalAnd(value.ge(this.low), value.lt(this.high));
    return log(inside.to(this.low.dtype)).sub(log(this.width));
  }

  override entropy(): Tensor {
    return log(this.width);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    return clamp(value.sub(this.low).div(this.width), 0, 1);
  }

  override icdf(value: Tensor): Tensor {
    return value.mul(this.width).add(this.low);
  }
}
