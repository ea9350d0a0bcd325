/**
 * @file `Independent`: dimensions of a batch as dimensions of one event.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { type Constraint, independent } from './constraints.js';
import { sumRightmost } from './sum-rightmost.js';
import { Distribution, type DistributionOptions, type EnumerateOptions } from './distribution.js';

/** The last dimensions of `base`'s batch belong to the event: their log probabilities add up. @see torch.distributions.Independent */
export class Independent<D extends Distribution = Distribution> extends Distribution {
  /** @throws invalid-argument if the batch has fewer dimensions */
  constructor(
    readonly base: D,
    readonly reinterpretedBatchNdims: number,
    options: DistributionOptions = {},
  ) {
    if (!(base instanceof Distribution) || !Number.isInteger(reinterpretedBatchNdims))
      throw new TesseraError(
        'invalid-argument',
        'Independent: a distribution and a number of its batch dimensions expected.',
        { hints: ['Write new Independent(new Normal(loc, scale), 1).'] },
      );
    const { batchShape, eventShape } = base;
    if (reinterpretedBatchNdims > batchShape.length)
      throw new TesseraError(
        'invalid-argument',
        `Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual ${reinterpretedBatchNdims} vs ${batchShape.length}`,
        { hints: ['Give the number of batch dimensions that belong to one event.'] },
      );
    const kept = batchShape.length - reinterpretedBatchNdims;
    super(batchShape.slice(0, kept), [...batchShape.slice(kept), ...eventShape], options);
  }

  get support(): Constraint {
    return independent(this.base.support, this.reinterpretedBatchNdims);
  }
  get mean(): Tensor {
    return this.base.mean;
  }
  get variance(): Tensor {
    return this.base.variance;
  }
  override get mode(): Tensor {
    return this.base.mode;
  }
  override get hasRsample(): boolean {
    return this.base.hasRsample;
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return this.base.sample(sampleShape);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    return this.base.rsample(sampleShape);
  }

  override logProb(value: Tensor): Tensor {
    return sumRightmost(this.base.logProb(value), this.reinterpretedBatchNdims);
  }

  override get hasEnumerateSupport(): boolean {
    return this.reinterpretedBatchNdims === 0 && this.base.hasEnumerateSupport;
  }

  /** @throws invalid-argument if any dimension of the batch belongs to the event */
  override enumerateSupport(options: EnumerateOptions = {}): Tensor {
    if (this.reinterpretedBatchNdims > 0)
      throw new TesseraError(
        'invalid-argument',
        'Enumeration over cartesian product is not implemented',
        { hints: ['Enumerate the support of its base.'] },
      );
    return this.base.enumerateSupport(options);
  }

  override entropy(): Tensor {
    return sumRightmost(this.base.entropy(), this.reinterpretedBatchNdims);
  }

  override toString(): string {
    return `${this.constructor.name}(${String(this.base)}, ${this.reinterpretedBatchNdims})`;
  }
}
