/**
 * @file Distributions that approach choices and have gradients: `RelaxedBernoulli`, `RelaxedOneHotCategorical`; and
 * `LogisticNormal`, of probabilities.
 */
import { type Tensor, expand, isTensor, lgamma, log, log1p, rand } from '@tessera/tensor';
import { scalarTensor } from '@tessera/tensor/internal';
import { Categorical } from './categorical.js';
import { type Constraint, real, realVector, simplex, unitInterval } from './constraints.js';
import { Distribution, type DistributionOptions, type ParameterLike } from './distribution.js';
import type { Independent } from './independent.js';
import { Normal } from './normal.js';
import {
  PROBS_OR_LOGITS,
  type ProbsOrLogits,
  clampProbs,
  logitsOf,
  probsOf,
  probsOrLogits,
} from './probs-or-logits.js';
import { TransformedDistribution } from './transformed-distribution.js';
import { ExpTransform, SigmoidTransform } from './transforms-elementwise.js';
import { StickBreakingTransform } from './transforms-vector.js';

/** A temperature beside a parameter. */
function temperatureOf(given: ParameterLike, { dtype, device }: Tensor): Tensor {
  return isTensor(given) ? given : scalarTensor(given, { dtype, device });
}

abstract class Relaxed extends Distribution {
  abstract readonly temperature: Tensor;
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ProbsOrLogits, true>> =
    PROBS_OR_LOGITS;

  get mean(): Tensor {
    throw this.missing('mean');
  }
  get variance(): Tensor {
    throw this.missing('variance');
  }

  override expand(batchShape: readonly number[]): this {
    // It belongs to all of the batch, or broadcasts with it.
    const { temperature } = this;
    return Object.assign(super.expand(batchShape), { temperature });
  }

  /** Uniform numbers of which logarithms are finite. */
  protected uniforms(sampleShape: readonly number[], { dtype, device }: Tensor): Tensor {
    return clampProbs(rand(this.extended(sampleShape), { dtype, device }));
  }
}

/** The logits of a relaxed Bernoulli variable. @see torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli */
export class LogitRelaxedBernoulli extends Relaxed {
  readonly temperature: Tensor;
  private readonly given: 'probs' | 'logits';
  private readonly value: Tensor;

  /** @throws invalid-argument */
  constructor(temperature: ParameterLike, options: ProbsOrLogits) {
    const { given, value } = probsOrLogits(new.target, options);
    super(value.sizes, [], options);
    this.checkParameter(given, value, given === 'probs' ? unitInterval : real);
    this.given = given;
    this.value = value;
    this.temperature = temperatureOf(temperature, value);
  }

  get probs(): Tensor {
    return this.given === 'probs' ? this.value : probsOf(this.value);
  }
  get logits(): Tensor {
    return this.given === 'logits' ? this.value : logitsOf(this.value);
  }
  get support(): Constraint {
    return real;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const probs = clampProbs(expand(this.probs, this.extended(sampleShape)));
    return logitsOf(this.uniforms(sampleShape, probs)).add(logitsOf(probs)).div(this.temperature);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const difference = this.logits.sub(value.mul(this.temperature));
    const spread = log1p(difference.exp()).mul(2);
    return log(this.temperature).add(difference).sub(spread);
  }
}

/** Between 0 and 1, nearer to them the lower the temperature. @see torch.distributions.RelaxedBernoulli */
export class RelaxedBernoulli extends TransformedDistribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ProbsOrLogits, true>> =
    PROBS_OR_LOGITS;
  declare readonly base: LogitRelaxedBernoulli;

  /** @throws invalid-argument */
  constructor(temperature: ParameterLike, options: ProbsOrLogits) {
    super(new LogitRelaxedBernoulli(temperature, options), new SigmoidTransform(), options);
  }

  get temperature(): Tensor {
    return this.base.temperature;
  }
  get probs(): Tensor {
    return this.base.probs;
  }
  get logits(): Tensor {
    return this.base.logits;
  }
}

/** The logarithms of a relaxed category. @see torch.distributions.relaxed_categorical.ExpRelaxedCategorical */
export class ExpRelaxedCategorical extends Relaxed {
  readonly temperature: Tensor;
  private readonly categorical: Categorical;

  /** @throws invalid-argument */
  constructor(temperature: ParameterLike, options: ProbsOrLogits<Tensor>) {
    const categorical = new Categorical(options);
    super(categorical.batchShape, [categorical.numEvents], options);
    this.categorical = categorical;
    this.temperature = temperatureOf(temperature, categorical.logits);
  }

  get probs(): Tensor {
    return this.categorical.probs;
  }
  get logits(): Tensor {
    return this.categorical.logits;
  }
  /** Those whose exponentials sum to 1. */
  get support(): Constraint {
    return realVector;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { logits } = this;
    const noise = log(log(this.uniforms(sampleShape, logits)).neg()).neg();
    return logits.add(noise).div(this.temperature).logSoftmax(-1);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { temperature, logits } = this;
    const count = this.eventShape[0]!;
    const { dtype, device } = temperature;
    const orders = lgamma(scalarTensor(count, { dtype, device }));
    const scores = logits.sub(value.mul(temperature)).logSoftmax(-1).sum(-1);
    return scores.add(orders.add(log(temperature).mul(count - 1)));
  }
}

/** Probabilities, nearer to a one among zeros the lower the temperature. @see torch.distributions.RelaxedOneHotCategorical */
export class RelaxedOneHotCategorical extends TransformedDistribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ProbsOrLogits, true>> =
    PROBS_OR_LOGITS;
  declare readonly base: ExpRelaxedCategorical;

  override get support(): Constraint {
    return simplex;
  }

  /** @throws invalid-argument */
  constructor(temperature: ParameterLike, options: ProbsOrLogits<Tensor>) {
    super(new ExpRelaxedCategorical(temperature, options), new ExpTransform(), options);
  }

  get temperature(): Tensor {
    return this.base.temperature;
  }
  get probs(): Tensor {
    return this.base.probs;
  }
  get logits(): Tensor {
    return this.base.logits;
  }
}

/** K + 1 probabilities of K normal numbers, by breaking a stick. @see torch.distributions.LogisticNormal */
export class LogisticNormal extends TransformedDistribution {
  /** @throws invalid-argument unless scales are positive */
  constructor(loc: ParameterLike, scale: ParameterLike, options: DistributionOptions = {}) {
    const normal = new Normal(loc, scale, options);
    const base = normal.batchShape.length === 0 ? normal.expand([1]) : normal;
    super(base, new StickBreakingTransform(), options);
  }

  private get normal(): Normal {
    return (this.base as Independent).base as Normal;
  }
  get loc(): Tensor {
    return this.normal.loc;
  }
  get scale(): Tensor {
    return this.normal.scale;
  }
}
