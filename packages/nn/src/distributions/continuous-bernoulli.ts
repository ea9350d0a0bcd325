/**
 * @file `ContinuousBernoulli`: numbers from 0 to 1 with a density that rises or falls exponentially.
 *
 * @see G. Loaiza-Ganem and J. P. Cunningham, The continuous Bernoulli: fixing a pervasive error in variational autoencoders
 */
import {
  type Tensor,
  abs,
  broadcastTensors,
  log,
  log1p,
  logicalOr,
  pow,
  rand,
  where,
} from '@tessera/tensor';
import { binaryCrossEntropyWithLogits } from '@tessera/tensor/internal';
import { type Constraint, real, unitInterval } from './constraints.js';
import { Distribution } from './distribution.js';
import {
  type ProbsOrLogits,
  PROBS_OR_LOGITS,
  clampProbs,
  logitsOf,
  probsOf,
  probsOrLogits,
} from './probs-or-logits.js';

/** Options of `ContinuousBernoulli`. */
export interface ContinuousBernoulliOptions extends ProbsOrLogits {
  /** Between these `probs` series stand for formulas that are 0 / 0 at a half (default [0.499, 0.501]). */
  readonly lims?: readonly [low: number, high: number];
}

/** Density in proportion to probsˣ (1 - probs)¹⁻ˣ. @see torch.distributions.ContinuousBernoulli */
export class ContinuousBernoulli extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ContinuousBernoulliOptions, true>> = {
    ...PROBS_OR_LOGITS,
    lims: true,
  };

  private readonly given: 'probs' | 'logits';
  private readonly value: Tensor;
  private readonly lims: readonly [low: number, high: number];

  /** @throws invalid-argument */
  constructor(options: ContinuousBernoulliOptions) {
    const { given, value } = probsOrLogits(new.target, options);
    super(value.sizes, [], options);
    this.checkParameter(given, value, given === 'probs' ? unitInterval : real);
    this.given = given;
    this.value = given === 'probs' ? clampProbs(value) : value;
    this.lims = options.lims ?? [0.499, 0.501];
  }

  /** No probability, but the mean is above a half where it is. */
  get probs(): Tensor {
    return this.given === 'probs' ? this.value : clampProbs(probsOf(this.value));
  }
  /** log probs - log(1 - probs) */
  get logits(): Tensor {
    return this.given === 'logits' ? this.value : logitsOf(this.value);
  }

  /** Where formulas hold, and probs that are safe for them elsewhere. */
  private cut(): readonly [isStable: Tensor, probs: Tensor] {
    const { probs } = this;
    const [low, high] = this.lims;
    const isStable = logicalOr(probs.le(low), probs.gt(high));
    return [isStable, where(isStable, probs, low)];
  }

  /** The logarithm of what the density is divided by. */
  logNorm(): Tensor {
    const [isStable, probs] = this.cut();
    const below = where(probs.le(0.5), probs, 0);
    const above = where(probs.ge(0.5), probs, 1);
    const norm = log(abs(log1p(probs.neg()).sub(log(probs)))).sub(
      where(probs.le(0.5), log1p(below.mul(-2)), log(above.mul(2).sub(1))),
    );
    const x = this.probs.sub(0.5).square();
    const series = x
      .mul(104 / 45)
      .add(4 / 3)
      .mul(x)
      .add(Math.LN2);
    return where(isStable, norm, series);
  }

  get support(): Constraint {
    return unitInterval;
  }
  get mean(): Tensor {
    const [isStable, probs] = this.cut();
    const mean = probs
      .div(probs.mul(2).sub(1))
      .add(log1p(probs.neg()).sub(log(probs)).reciprocal());
    const x = this.probs.sub(0.5);
    const series = x
      .square()
      .mul(16 / 45)
      .add(1 / 3)
      .mul(x)
      .add(0.5);
    return where(isStable, mean, series);
  }
  get variance(): Tensor {
    const [isStable, probs] = this.cut();
    const spread = probs
      .mul(probs.sub(1))
      .div(probs.mul(-2).add(1).square())
      .add(log1p(probs.neg()).sub(log(probs)).square().reciprocal());
    const x = this.probs.sub(0.5).square();
    const series = x
      .mul(-128 / 945)
      .add(1 / 15)
      .mul(x)
      .neg()
      .add(1 / 12);
    return where(isStable, spread, series);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.value;
    return this.icdf(rand(this.extended(sampleShape), { dtype, device }));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const [logits, target] = broadcastTensors([this.logits, value]);
    const loss = binaryCrossEntropyWithLogits(logits!, target!, { reduction: 'none' });
    return this.logNorm().sub(loss);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    const [isStable, probs] = this.cut();
    const rest = probs.neg().add(1);
    const share = pow(probs, value)
      .mul(pow(rest, value.neg().add(1)))
      .sub(rest)
      .div(probs.mul(2).sub(1));
    const inside = where(isStable, share, value);
    return where(value.le(0), 0, where(value.ge(1), 1, inside));
  }

  override icdf(value: Tensor): Tensor {
    const [isStable, probs] = this.cut();
    const rest = log1p(probs.neg());
    const found = log1p(value.mul(probs.mul(2).sub(1)).sub(probs)).sub(rest);
    return where(isStable, found.div(log(probs).sub(rest)), value);
  }

  override entropy(): Tensor {
    const { probs } = this;
    const fail = log1p(probs.neg());
    return this.mean
      .mul(fail.sub(log(probs)))
      .sub(this.logNorm())
      .sub(fail);
  }
}
