/**
 * @file `ContinuousBernoulli`: numbers between 0 and 1 whose density is pⁿ(1-p)¹⁻ⁿ as of Bernoulli variables, made to
 * integrate to 1.
 *
 * Near p = ½ its formulas are 0 / 0: between `lims` they are Taylor polynomials, as in PyTorch.
 */
import { type Tensor, abs, broadcastTensors, log, log1p, pow, rand, where } from '@tessera/tensor';
import { binaryCrossEntropyWithLogits } from '@tessera/tensor/internal';
import { type Constraint, real, unitInterval } from './constraints.js';
import { Distribution } from './distribution.js';
import {
  type ProbsOrLogits,
  clampProbs,
  logitsOf,
  probsOf,
  probsOrLogits,
} from './probs-or-logits.js';

/** Options of `ContinuousBernoulli`. */
export interface ContinuousBernoulliOptions extends ProbsOrLogits {
  /** Between which parameters polynomials take over (default [0.499, 0.501]). */
  readonly lims?: readonly [number, number];
}

/** @see torch.distributions.ContinuousBernoulli @see Loaiza-Ganem and Cunningham, https://arxiv.org/abs/1907.06845 */
export class ContinuousBernoulli extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ContinuousBernoulliOptions, true>> = {
    probs: true,
    logits: true,
    lims: true,
    validateArgs: true,
  };

  private readonly given: 'probs' | 'logits';
  private readonly value: Tensor;
  private readonly lims: readonly [number, number];

  /** @throws invalid-argument */
  constructor(options: ContinuousBernoulliOptions) {
    const { given, value } = probsOrLogits(new.target, options);
    super(value.sizes, [], options);
    this.checkParameter(given, value, given === 'probs' ? unitInterval : real);
    this.given = given;
    this.value = given === 'probs' ? clampProbs(value) : value;
    this.lims = options.lims ?? [0.499, 0.501];
  }

  /** The parameter, which is not the mean. */
  get probs(): Tensor {
    return this.given === 'probs' ? this.value : clampProbs(probsOf(this.value));
  }
  /** log p - log(1 - p) */
  get logits(): Tensor {
    return this.given === 'logits' ? this.value : logitsOf(this.value);
  }

  /** Whether the formulas are stable, and parameters for which they are. */
  private stable(): { readonly isStable: Tensor; readonly p: Tensor } {
    const { probs } = this;
    const [low, high] = this.lims;
    const isStable = probs.le(low).logicalOr(probs.gt(high));
    return { isStable, p: where(isStable, probs, low) };
  }

  /** Logarithm of what the density is multiplied by, [batch]. */
  get logNorm(): Tensor {
    const { isStable, p } = this.stable();
    const below = where(p.le(0.5), p, 0);
    const above = where(p.ge(0.5), p, 1);
    const slope = where(p.le(0.5), log1p(below.mul(-2)), log(above.mul(2).sub(1)));
    const exact = log(abs(log1p(p.neg()).sub(log(p)))).sub(slope);
    const x = this.probs.sub(0.5).square();
    const taylor = x
      .mul(104 / 45)
      .add(4 / 3)
      .mul(x)
      .add(Math.LN2);
    return where(isStable, exact, taylor);
  }

  get support(): Constraint {
    return unitInterval;
  }
  get mean(): Tensor {
    const { isStable, p } = this.stable();
    const exact = p.div(p.mul(2).sub(1)).add(log1p(p.neg()).sub(log(p)).reciprocal());
    const x = this.probs.sub(0.5);
    const taylor = x
      .square()
      .mul(16 / 45)
      .add(1 / 3)
      .mul(x)
      .add(0.5);
    return where(isStable, exact, taylor);
  }
  get variance(): Tensor {
    const { isStable, p } = this.stable();
    const exact = p
      .mul(p.sub(1))
      .div(p.mul(-2).add(1).square())
      .add(log1p(p.neg()).sub(log(p)).square().reciprocal());
    const x = this.probs.sub(0.5).square();
    const taylor = x
      .mul(128 / 945)
      .sub(1 / 15)
      .mul(x)
      .add(1 / 12);
    return where(isStable, exact, taylor);
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.value;
    return this.icdf(rand(this.extended(sampleShape), { dtype, device }));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const [logits, target] = broadcastTensors([this.logits, value]);
    return this.logNorm.sub(binaryCrossEntropyWithLogits(logits!, target!, { reduction: 'none' }));
  }

  override entropy(): Tensor {
    const { probs } = this;
    const none = log1p(probs.neg());
    return this.mean
      .mul(none.sub(log(probs)))
      .sub(this.logNorm)
      .sub(none);
  }

  override cdf(value: Tensor): Tensor {
    this.checkValue(value);
    const { isStable, p } = this.stable();
    const exact = pow(p, value)
      .mul(pow(p.neg().add(1), value.neg().add(1)))
      .add(p)
      .sub(1)
      .div(p.mul(2).sub(1));
    const inside = where(isStable, exact, value);
    return where(value.le(0), 0, where(value.ge(1), 1, inside));
  }

  override icdf(value: Tensor): Tensor {
    const { isStable, p } = this.stable();
    const none = log1p(p.neg());
    const exact = log1p(value.mul(p.mul(2).sub(1)).sub(p))
      .sub(none)
      .div(log(p).sub(none));
    return where(isStable, exact, value);
  }
}
