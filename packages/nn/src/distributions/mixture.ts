/**
 * @file `MixtureSameFamily`: distributions of one kind, of which a category chooses one for each sample.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, noGrad } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { Categorical } from './categorical.js';
import type { Constraint } from './constraints.js';
import { Distribution, type DistributionOptions } from './distribution.js';

/**
 * The last dimension of `components`' batch counts them, `mixture` weighs them.
 * @see torch.distributions.MixtureSameFamily
 */
export class MixtureSameFamily<D extends Distribution = Distribution> extends Distribution {
  /** @throws invalid-argument if they do not fit */
  constructor(
    readonly mixture: Categorical,
    readonly components: D,
    options: DistributionOptions = {},
  ) {
    if (!(mixture instanceof Categorical) || !(components instanceof Distribution))
      throw new TesseraError(
        'invalid-argument',
        mixture instanceof Categorical
          ? 'The Component distribution needs to be an instance of torch.distributions.Distribution'
          : 'The Mixture distribution needs to be an instance of torch.distributions.Categorical',
        {
          hints: [
            'Write new MixtureSameFamily(new Categorical({ logits }), new Normal(loc, scale)).',
          ],
        },
      );
    const batchShape = components.batchShape.slice(0, -1);
    const count = components.batchShape.at(-1);
    const { batchShape: weights, numEvents } = mixture;
    if (weights.some((size, i) => size !== 1 && size !== batchShape.at(i - weights.length)))
      throw new TesseraError(
        'invalid-argument',
        `\`mixture_distribution.batch_shape\` (${formatSizes(weights)}) is not compatible with \`component_distribution.batch_shape\` (${formatSizes(components.batchShape)})`,
        {
          hints: [
            'Weights are [batch, components], as are the components; a batch of weights may be left out or 1.',
          ],
        },
      );
    if (count !== numEvents)
      throw new TesseraError(
        'invalid-argument',
        `\`mixture_distribution component\` (${numEvents}) does not equal \`component_distribution.batch_shape[-1]\` (${count ?? 'none'})`,
        { hints: ['Give as many weights as there are components.'] },
      );
    super(batchShape, components.eventShape, options);
  }

  get support(): Constraint {
    return this.components.support;
  }
  get mean(): Tensor {
    return this.weighed(this.components.mean);
  }
  get variance(): Tensor {
    const { mean, variance } = this.components;
    const apart = mean.sub(this.spread(this.mean)).square();
    return this.weighed(variance).add(this.weighed(apart));
  }

  override cdf(value: Tensor): Tensor {
    return this.components.cdf(this.spread(value)).mul(this.mixture.probs).sum(-1);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { mixture, components } = this;
    return components.logProb(this.spread(value)).add(mixture.logits).logsumexp(-1);
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const shape = this.extended(sampleShape);
      const samples = this.components.sample(sampleShape);
      const chosen = this.mixture.sample(sampleShape);
      const index = chosen.reshape([...chosen.sizes, 1, ...this.eventShape.map(() => 1)]);
      const one = [...shape];
      one.splice(shape.length - this.eventShape.length, 0, 1);
      return samples.gather(this.dim, index.expand(one)).squeeze(this.dim);
    });
  }

  /** Where components are counted in [batch, components, event]. */
  private get dim(): number {
    return -1 - this.eventShape.length;
  }

  private spread(value: Tensor): Tensor {
    return value.unsqueeze(this.dim);
  }

  private weighed(value: Tensor): Tensor {
    const { probs } = this.mixture;
    const weights = probs.reshape([...probs.sizes, ...this.eventShape.map(() => 1)]);
    return weights.mul(value).sum(this.dim);
  }
}
