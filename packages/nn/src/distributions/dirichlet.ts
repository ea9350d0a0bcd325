/**
 * @file `Dirichlet` and `Beta`: distributions of probabilities.
 *
 * Samples are gamma numbers divided by their sum, and take their gradients from there.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  arange,
  clampMin,
  digamma,
  expand,
  lgamma,
  stack,
  standardGamma,
  where,
  xlogy,
} from '@tessera/tensor';
import { type Constraint, positive, simplex, unitInterval } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
  checkTensor,
} from './distribution.js';

/** Probabilities of the last dimension's categories. @see torch.distributions.Dirichlet */
export class Dirichlet extends Distribution {
  /** [batch, categories] */
  readonly concentration: Tensor;

  /** @throws invalid-argument unless it has a dimension and is positive */
  constructor(concentration: Tensor, options: DistributionOptions = {}) {
    checkTensor('concentration', concentration);
    if (concentration.ndim < 1)
      throw new TesseraError(
        'invalid-argument',
        '`concentration` parameter must be at least one-dimensional.',
        { hints: ['Its last dimension counts categories.'] },
      );
    super(concentration.sizes.slice(0, -1), concentration.sizes.slice(-1), options);
    this.concentration = concentration;
    this.checkParameter('concentration', concentration, positive);
  }

  get support(): Constraint {
    return simplex;
  }
  get mean(): Tensor {
    return this.concentration.div(this.total.unsqueeze(-1));
  }
  get variance(): Tensor {
    const total = this.total.unsqueeze(-1);
    const { concentration: c } = this;
    return c.mul(total.sub(c)).div(total.square().mul(total.add(1)));
  }
  /** The first corner where all corners are infinitely probable. */
  override get mode(): Tensor {
    const { concentration: c } = this;
    const above = clampMin(c.sub(1), 0);
    const corner = arange(c.sizes.at(-1)!, { device: c.device }).eq(0).to(c.dtype);
    const isCornered = c.lt(1).all(-1, { keepdim: true });
    return where(isCornered, corner, above.div(above.sum(-1, { keepdim: true })));
  }

  private get total(): Tensor {
    return this.concentration.sum(-1);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const parts = standardGamma(expand(this.concentration, this.extended(sampleShape)));
    return parts.div(parts.sum(-1, { keepdim: true }));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { concentration: c } = this;
    return xlogy(c.sub(1), value).sum(-1).add(lgamma(this.total)).sub(lgamma(c).sum(-1));
  }

  override entropy(): Tensor {
    const { concentration: c, total } = this;
    const categories = c.sizes.at(-1)!;
    return lgamma(c)
      .sum(-1)
      .sub(lgamma(total))
      .sub(total.neg().add(categories).mul(digamma(total)))
      .sub(c.sub(1).mul(digamma(c)).sum(-1));
  }
}

/** Density x^(a-1) (1 - x)^(b-1) / B(a, b). @see torch.distributions.Beta */
export class Beta extends Distribution {
  /** a */
  readonly concentration1: Tensor;
  /** b */
  readonly concentration0: Tensor;
  private readonly dirichlet: Dirichlet;

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
    // Values are checked here, as they are given.
    this.dirichlet = new Dirichlet(stack([a, b], -1), { validateArgs: false });
  }

  get support(): Constraint {
    return unitInterval;
  }
  get mean(): Tensor {
    return this.concentration1.div(this.concentration1.add(this.concentration0));
  }
  get variance(): Tensor {
    const { concentration1: a, concentration0: b } = this;
    const total = a.add(b);
    return a.mul(b).div(total.square().mul(total.add(1)));
  }
  override get mode(): Tensor {
    return this.dirichlet.mode.select(-1, 0);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    return this.dirichlet.rsample(sampleShape).select(-1, 0);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    return this.dirichlet.logProb(stack([value, value.neg().add(1)], -1));
  }

  override entropy(): Tensor {
    return this.dirichlet.entropy();
  }
}
