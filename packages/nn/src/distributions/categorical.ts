/**
 * @file `Categorical` and `Multinomial`: which of several categories, once or many times.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  arange,
  argmax,
  clampMin,
  exp,
  expand,
  full,
  gather,
  lgamma,
  log,
  logSoftmax,
  multinomial,
  noGrad,
  oneHot,
  softmax,
  where,
} from '@tessera/tensor';
import { scalarTensor } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import { Binomial, countsUpTo } from './bernoulli.js';
import { type Constraint, integerInterval, realVector, simplex } from './constraints.js';
import { Distribution, type EnumerateOptions, broadcastAll } from './distribution.js';
import {
  type ProbsOrLogits,
  PROBS_OR_LOGITS,
  clampProbs,
  probsOrLogits,
} from './probs-or-logits.js';

/** What probabilities must be before they are divided by their sum: then they are on the simplex. */
const weights: Constraint = {
  ...simplex,
  check: (x) => {
    const sum = x.sum(-1);
    return x.ge(0).all(-1).logicalAnd(sum.gt(0)).logicalAnd(sum.lt(Number.POSITIVE_INFINITY));
  },
};

/** Number of a category of the last dimension. @see torch.distributions.Categorical */
export class Categorical extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ProbsOrLogits, true>> =
    PROBS_OR_LOGITS;

  private readonly given: 'probs' | 'logits';
  private readonly value: Tensor;

  /** Probabilities need not sum to 1, logits are any scores. @throws invalid-argument */
  constructor(options: ProbsOrLogits<Tensor>) {
    const { given, value } = probsOrLogits(new.target, options);
    if (value.ndim < 1)
      throw new TesseraError(
        'invalid-argument',
        `\`${given}\` parameter must be at least one-dimensional.`,
        { hints: ['Its last dimension counts categories.'] },
      );
    super(value.sizes.slice(0, -1), [], options);
    this.given = given;
    this.value = value;
    this.checkParameter(given, value, given === 'probs' ? weights : realVector);
  }

  /** Number of categories. */
  get numEvents(): number {
    return this.value.sizes.at(-1)!;
  }
  /** [batch, categories], of sum 1. */
  get probs(): Tensor {
    if (this.given === 'logits') return softmax(this.value, -1);
    return this.value.div(this.value.sum(-1, { keepdim: true }));
  }
  /** [batch, categories], logarithms of the probabilities. */
  get logits(): Tensor {
    return this.given === 'logits' ? logSoftmax(this.value, -1) : log(clampProbs(this.probs));
  }

  get support(): Constraint {
    return integerInterval(0, this.numEvents - 1);
  }
  /** Categories have none: NaN. */
  get mean(): Tensor {
    const { dtype, device } = this.value;
    return full(this.batchShape, Number.NaN, { dtype, device });
  }
  /** Categories have none: NaN. */
  get variance(): Tensor {
    return this.mean;
  }
  override get mode(): Tensor {
    return argmax(this.probs, -1);
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const rows = this.probs.reshape([-1, this.numEvents]);
      const count = sampleShape.reduce((product, size) => product * size, 1);
      const drawn = multinomial(rows, count, { replacement: true });
      return drawn.t().reshape(this.extended(sampleShape));
    });
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { logits } = this;
    const [places, like] = broadcastAll(value, logits.select(-1, 0));
    const all = expand(logits, [...like.sizes, this.numEvents]);
    return gather(all, -1, places.to('int64').unsqueeze(-1)).squeeze(-1);
  }

  override entropy(): Tensor {
    return clampMin(this.logits, -3.4028234663852886e38).mul(this.probs).sum(-1).neg();
  }

  override enumerateSupport(options: EnumerateOptions = {}): Tensor {
    const { device } = this.value;
    return this.enumerated(arange(this.numEvents, { dtype: 'int64', device }), options);
  }
}

/** Options of `Multinomial`. */
export interface MultinomialOptions extends ProbsOrLogits<Tensor> {
  /** Number of draws (default 1). */
  readonly totalCount?: number;
}

/** How often each category occurs in `totalCount` draws. @see torch.distributions.Multinomial */
export class Multinomial extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MultinomialOptions, true>> = {
    totalCount: true,
    probs: true,
    logits: true,
    validateArgs: true,
  };

  readonly totalCount: number;
  private readonly categorical: Categorical;

  /** @throws invalid-argument */
  constructor(options: MultinomialOptions) {
    checkOptions(new.target, options);
    const { totalCount = 1, ...parameters } = options ?? {};
    if (typeof totalCount !== 'number')
      throw new TesseraError('invalid-argument', 'inhomogeneous total_count is not supported', {
        hints: ['totalCount is a number: make a distribution for each.'],
      });
    const categorical = new Categorical(parameters);
    super(categorical.batchShape, [categorical.numEvents], options);
    this.categorical = categorical;
    this.totalCount = totalCount;
  }

  get probs(): Tensor {
    return this.categorical.probs;
  }
  get logits(): Tensor {
    return this.categorical.logits;
  }
  get support(): Constraint {
    const { check } = integerInterval(0, this.totalCount);
    return {
      text: 'Multinomial()',
      eventDim: 1,
      isDiscrete: true,
      check: (x) => check(x).all(-1).logicalAnd(x.sum(-1).eq(this.totalCount)),
    };
  }
  get mean(): Tensor {
    return this.probs.mul(this.totalCount);
  }
  get variance(): Tensor {
    return this.mean.mul(this.probs.neg().add(1));
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const draws = this.categorical.sample([this.totalCount, ...sampleShape]);
      return oneHot(draws, this.categorical.numEvents).sum(0).to(this.probs.dtype);
    });
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { logits } = this;
    const impossible = logits.eq(Number.NEGATIVE_INFINITY).logicalAnd(value.eq(0));
    const powers = where(impossible, 0, logits).mul(value).sum(-1);
    const orders = lgamma(value.sum(-1).add(1)).sub(lgamma(value.add(1)).sum(-1));
    return orders.add(powers);
  }

  /** By all numbers of draws of each category. */
  override entropy(): Tensor {
    const { probs, totalCount } = this;
    const { dtype, device } = probs;
    const each = new Binomial({ totalCount, probs, validateArgs: false });
    const counts = countsUpTo(totalCount, probs);
    const weights = exp(each.logProb(counts)).mul(lgamma(counts.add(1)));
    const orders = lgamma(scalarTensor(totalCount + 1, { dtype, device }));
    return this.categorical
      .entropy()
      .mul(totalCount)
      .sub(orders)
      .add(weights.sum([0, -1]));
  }
}
