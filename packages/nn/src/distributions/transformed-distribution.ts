/**
 * @file `TransformedDistribution`: the distribution of what transforms make of samples.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor, noGrad } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { type Constraint, independent } from './constraints.js';
import { Distribution, type DistributionOptions } from './distribution.js';
import { Independent } from './independent.js';
import { sumRightmost } from './sum-rightmost.js';
import { Transform } from './transform.js';
import { ComposeTransform } from './transforms-composed.js';

/** What the constructor finds out. */
interface Parts {
  readonly base: Distribution;
  readonly transforms: readonly Transform[];
  readonly batchShape: readonly number[];
  readonly eventShape: readonly number[];
}

/** @throws invalid-argument */
function partsOf(given: Distribution, transforms: Transform | readonly Transform[]): Parts {
  const list = transforms instanceof Transform ? [transforms] : transforms;
  if (!(given instanceof Distribution) || !list.every((each) => each instanceof Transform))
    throw new TesseraError(
      'invalid-argument',
      'transforms must be a Transform or a list of Transforms',
      { hints: ['Write new TransformedDistribution(new Normal(0, 1), [new ExpTransform()]).'] },
    );
  const transform = new ComposeTransform(list);
  const { eventDim: takes = 0 } = transform.domain;
  const { eventDim: gives = 0 } = transform.codomain;
  const shape = [...given.batchShape, ...given.eventShape];
  if (shape.length < takes)
    throw new TesseraError(
      'invalid-argument',
      `base_distribution needs to have shape with size at least ${takes}, but got ${formatSizes(shape)}.`,
      { hints: ['The transform is one of events with more dimensions.'] },
    );
  const after = transform.forwardShape(shape);
  const before = transform.inverseShape(after);
  const dims = given.eventShape.length;
  let base =
    formatSizes(before) === formatSizes(shape)
      ? given
      : given.expand(before.slice(0, before.length - dims));
  if (takes > dims) base = new Independent(base, takes - dims, { validateArgs: false });
  const cut = after.length - Math.max(gives, dims + gives - takes);
  return { base, transforms: list, batchShape: after.slice(0, cut), eventShape: after.slice(cut) };
}

/** See the file header. @see torch.distributions.TransformedDistribution */
export class TransformedDistribution extends Distribution {
  /** What is transformed. */
  readonly base: Distribution;
  readonly transforms: readonly Transform[];

  /** @throws invalid-argument if they do not fit */
  constructor(
    base: Distribution,
    transforms: Transform | readonly Transform[],
    options: DistributionOptions = {},
  ) {
    const parts = partsOf(base, transforms);
    super(parts.batchShape, parts.eventShape, options);
    this.base = parts.base;
    this.transforms = parts.transforms;
  }

  get support(): Constraint {
    const last = this.transforms.at(-1);
    if (last === undefined) return this.base.support;
    const { codomain } = last;
    return independent(codomain, this.eventShape.length - (codomain.eventDim ?? 0));
  }
  get mean(): Tensor {
    throw this.missing('mean');
  }
  get variance(): Tensor {
    throw this.missing('variance');
  }
  override get hasRsample(): boolean {
    return this.base.hasRsample;
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => this.transformed(this.base.sample(sampleShape)));
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    return this.transformed(this.base.rsample(sampleShape));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    let dims = this.eventShape.length;
    let [y, stretched]: [Tensor, Tensor | null] = [value, null];
    for (const transform of [...this.transforms].reverse()) {
      const { eventDim: takes = 0 } = transform.domain;
      const x = transform.invert(y);
      dims += takes - (transform.codomain.eventDim ?? 0);
      const term = sumRightmost(transform.logAbsDetJacobian(x, y), dims - takes);
      stretched = stretched === null ? term : stretched.add(term);
      y = x;
    }
    const logProb = sumRightmost(this.base.logProb(y), dims - this.base.eventShape.length);
    return stretched === null ? logProb : logProb.sub(stretched);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    const x = this.transforms.reduceRight((y, transform) => transform.invert(y), value);
    return this.rising(this.base.cdf(x));
  }

  override icdf(value: Tensor): Tensor {
    return this.transformed(this.base.icdf(this.rising(value)));
  }

  private transformed(x: Tensor): Tensor {
    return this.transforms.reduce((value, transform) => transform.call(value), x);
  }

  /** A probability, of the other side where the transforms fall. @throws invalid-argument where they do neither */
  private rising(share: Tensor): Tensor {
    const { sign } = new ComposeTransform(this.transforms);
    if (!isTensor(sign) && sign === 1) return share;
    return share.sub(0.5).mul(sign).add(0.5);
  }
}
