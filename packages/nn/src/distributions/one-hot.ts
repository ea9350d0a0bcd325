/**
 * @file `OneHotCategorical`: a category as a one among zeros.
 */
import { type Tensor, argmax, eye, noGrad, oneHot } from '@tessera/tensor';
import { Categorical } from './categorical.js';
import { type Constraint, oneHotVector } from './constraints.js';
import { Distribution, type EnumerateOptions } from './distribution.js';
import { PROBS_OR_LOGITS, type ProbsOrLogits } from './probs-or-logits.js';

/** The category of the last dimension that was drawn has a one. @see torch.distributions.OneHotCategorical */
export class OneHotCategorical extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ProbsOrLogits, true>> =
    PROBS_OR_LOGITS;

  /** The distribution of the category's number. */
  readonly categorical: Categorical;

  /** Probabilities need not sum to 1, logits are any scores. @throws invalid-argument */
  constructor(options: ProbsOrLogits<Tensor>) {
    const categorical = new Categorical(options);
    super(categorical.batchShape, [categorical.numEvents], options);
    this.categorical = categorical;
  }

  get probs(): Tensor {
    return this.categorical.probs;
  }
  get logits(): Tensor {
    return this.categorical.logits;
  }
  get support(): Constraint {
    return oneHotVector;
  }
  get mean(): Tensor {
    return this.probs;
  }
  get variance(): Tensor {
    return this.probs.mul(this.probs.neg().add(1));
  }
  override get mode(): Tensor {
    return this.encoded(argmax(this.probs, -1));
  }

  private encoded(numbers: Tensor): Tensor {
    return oneHot(numbers, this.categorical.numEvents).to(this.probs.dtype);
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => this.encoded(this.categorical.sample(sampleShape)));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    return this.categorical.logProb(argmax(value, -1));
  }

  override entropy(): Tensor {
    return this.categorical.entropy();
  }

  override enumerateSupport(options: EnumerateOptions = {}): Tensor {
    const { dtype, device } = this.probs;
    return this.enumerated(eye(this.categorical.numEvents, null, { dtype, device }), options);
  }
}

/** Samples with the gradient of the probabilities. @see torch.distributions.OneHotCategoricalStraightThrough */
export class OneHotCategoricalStraightThrough extends OneHotCategorical {
  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { probs } = this;
    return this.sample(sampleShape).add(probs.sub(probs.detach()));
  }
}
