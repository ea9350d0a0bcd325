/**
 * @file `Bernoulli`, `Geometric` and `Binomial`: trials that succeed with one probability.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  arange,
  bernoulli,
  binomial,
  broadcastTensors,
  clampMax,
  clampMin,
  exp,
  expand,
  floor,
  lgamma,
  log,
  log1p,
  logSigmoid,
  noGrad,
  rand,
  where,
  zerosLike,
} from '@tessera/tensor';
import { binaryCrossEntropyWithLogits } from '@tessera/tensor/internal';
import {
  type Constraint,
  boolean,
  integerInterval,
  nonnegativeInteger,
  positive,
  real,
  unitInterval,
} from './constraints.js';
import { Distribution, type EnumerateOptions, type ParameterLike } from './distribution.js';
import {
  type ProbsOrLogits,
  clampProbs,
  logitsOf,
  probsOf,
  PROBS_OR_LOGITS,
  probsOrLogits,
} from './probs-or-logits.js';

/** What they have in common. */
abstract class Trials extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ProbsOrLogits, true>> =
    PROBS_OR_LOGITS;

  private readonly given: 'probs' | 'logits';
  private readonly value: Tensor;

  constructor({ given, value }: ReturnType<typeof probsOrLogits>, options: ProbsOrLogits) {
    super(value.sizes, [], options);
    this.given = given;
    this.value = value;
    this.checkParameter(given, value, given === 'probs' ? unitInterval : real);
  }

  /** Probability of a success. */
  get probs(): Tensor {
    return this.given === 'probs' ? this.value : probsOf(this.value);
  }
  /** log p - log(1 - p) */
  get logits(): Tensor {
    return this.given === 'logits' ? this.value : logitsOf(this.value);
  }

  /** Entropy of one trial. */
  protected entropyOfTrial(): Tensor {
    return binaryCrossEntropyWithLogits(this.logits, this.probs, { reduction: 'none' });
  }
}

/** 1 with probability `probs`, else 0. @see torch.distributions.Bernoulli */
export class Bernoulli extends Trials {
  /** @throws invalid-argument */
  constructor(options: ProbsOrLogits) {
    super(probsOrLogits(new.target, options), options);
  }

  get support(): Constraint {
    return boolean;
  }
  get mean(): Tensor {
    return this.probs;
  }
  get variance(): Tensor {
    return this.probs.mul(this.probs.neg().add(1));
  }
  /** NaN where both are as probable. */
  override get mode(): Tensor {
    const { probs } = this;
    return where(probs.eq(0.5), Number.NaN, probs.ge(0.5).to(probs.dtype));
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => bernoulli(expand(this.probs, this.extended(sampleShape))));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const [logits, target] = broadcastTensors([this.logits, value.to(this.logits.dtype)]);
    return binaryCrossEntropyWithLogits(logits!, target!, { reduction: 'none' }).neg();
  }

  override entropy(): Tensor {
    return this.entropyOfTrial();
  }

  override enumerateSupport(options: EnumerateOptions = {}): Tensor {
    const { dtype, device } = this.probs;
    return this.enumerated(arange(2, { dtype, device }), options);
  }
}

/** Failures before the first success. @see torch.distributions.Geometric */
export class Geometric extends Trials {
  /** @throws invalid-argument unless probabilities are positive */
  constructor(options: ProbsOrLogits) {
    super(probsOrLogits(new.target, options), options);
    this.checkParameter('probs', this.probs, positive);
  }

  get support(): Constraint {
    return nonnegativeInteger;
  }
  get mean(): Tensor {
    return this.probs.reciprocal().sub(1);
  }
  get variance(): Tensor {
    return this.probs.reciprocal().sub(1).div(this.probs);
  }
  override get mode(): Tensor {
    return zerosLike(this.probs);
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const { probs } = this;
      const { dtype, device } = probs;
      const uniform = clampMin(rand(this.extended(sampleShape), { dtype, device }), 2 ** -25);
      return floor(log(uniform).div(log1p(clampProbs(probs).neg())));
    });
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { probs } = this;
    const failures = log1p(clampProbs(probs).neg()).mul(value);
    return failures.add(log(probs));
  }

  override entropy(): Tensor {
    return this.entropyOfTrial().div(this.probs);
  }
}

/** Options of `Binomial`. */
export interface BinomialOptions extends ProbsOrLogits {
  /** Number of trials (default 1). */
  readonly totalCount?: ParameterLike;
}

/** Successes in `totalCount` trials. @see torch.distributions.Binomial */
export class Binomial extends Trials {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof BinomialOptions, true>> = {
    totalCount: true,
    probs: true,
    logits: true,
    validateArgs: true,
  };

  readonly totalCount: Tensor;

  /** @throws invalid-argument */
  constructor(options: BinomialOptions) {
    const parameters = probsOrLogits(new.target, options, options?.totalCount ?? 1);
    super(parameters, options);
    this.totalCount = parameters.others[0]!.to(parameters.value.dtype);
    this.checkParameter('totalCount', this.totalCount, nonnegativeInteger);
  }

  get support(): Constraint {
    return integerInterval(0, this.totalCount);
  }
  get mean(): Tensor {
    return this.totalCount.mul(this.probs);
  }
  get variance(): Tensor {
    return this.mean.mul(this.probs.neg().add(1));
  }
  override get mode(): Tensor {
    return clampMax(floor(this.totalCount.add(1).mul(this.probs)), this.totalCount);
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    const shape = this.extended(sampleShape);
    return noGrad(() =>
      binomial(expand(this.totalCount, shape).clone(), expand(this.probs, shape).clone()),
    );
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { totalCount: n, logits } = this;
    const factorial = (count: Tensor): Tensor => lgamma(count.add(1));
    const failure = logSigmoid(logits.neg());
    return value
      .mul(logits)
      .sub(factorial(value))
      .sub(factorial(n.sub(value)))
      .add(n.mul(failure).add(factorial(n)));
  }

  /** By all numbers of successes, so that of trials is read. @throws invalid-argument if it is not the same for all */
  override entropy(): Tensor {
    const logProbs = this.logProb(countsUpTo(this.oneCount('entropy'), this.probs));
    return exp(logProbs).mul(logProbs).sum(0).neg();
  }

  override enumerateSupport(options: EnumerateOptions = {}): Tensor {
    const { dtype, device } = this.probs;
    const count = this.oneCount('enumerate_support');
    return this.enumerated(arange(count + 1, { dtype, device }), options);
  }

  /** The number of trials that all have. @throws invalid-argument */
  private oneCount(method: string): number {
    const [least, most] = [this.totalCount.min().item(), this.totalCount.max().item()];
    if (least !== most)
      throw new TesseraError(
        'invalid-argument',
        `Inhomogeneous total count not supported by \`${method}\`.`,
        { hints: ['Make a distribution for each number of trials.'] },
      );
    return most!;
  }
}

/** 0 to `most`, along a dimension before those of `like`. */
export function countsUpTo(most: number, { dtype, device, ndim }: Tensor): Tensor {
  const ones = Array.from({ length: ndim }, () => 1);
  return arange(most + 1, { dtype, device }).view([-1, ...ones]);
}
