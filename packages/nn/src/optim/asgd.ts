/**
 * @file `ASGD`: gradient descent with a falling rate, and the average of the parameters on the way.
 */
import { type Tensor, zerosLike } from '@tessera/tensor';
import { lerp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Carried, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `ASGD`. */
export interface ASGDOptions extends CommonOptions {
  /** Decay of the parameters and of the rate (default 1e-4). */
  lambd: number;
  /** Power of the rate's decay (default 0.75). */
  alpha: number;
  /** Step at which averaging begins (default 1e6). */
  t0: number;
  /** L2 penalty (default 0). */
  weightDecay: number;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface ASGDScalars {
  readonly weightDecay: number;
  /** 1 - lambd · eta */
  readonly decay: number;
  readonly negEta: number;
  /** Weight of the new parameters in their average. */
  readonly mu: number;
}

/**
 * Averaged stochastic gradient descent; the averages are `state.get(param).tensors.ax`.
 *
 * A step uses the rate that the step before it has set, as in PyTorch: a new `lr` counts from the step after
 * the next. @see torch.optim.ASGD
 */
export class ASGD extends Optimizer<ASGDOptions, ASGDScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<ASGDOptions>, options: OptionsInput<ASGDOptions> = {}) {
    const defaults = { lr: 1e-2, lambd: 1e-4, alpha: 0.75, t0: 1e6 };
    super(params, { ...defaults, weightDecay: 0, maximize: false }, options);
  }

  protected override checkOptions(group: ASGDOptions): void {
    checkNonNegative(group, 'lr', 'weightDecay');
  }

  protected override structure(group: ASGDOptions): Structure {
    return { weightDecay: group.weightDecay !== 0, maximize: group.maximize };
  }

  protected override stateTensors(param: Tensor): Record<string, Tensor> {
    return { ax: zerosLike(param) };
  }

  /** Rate and weight for the next update, rounded to float32 as PyTorch keeps them. */
  protected override carry({ lr, lambd, alpha, t0 }: ASGDOptions, step: number): Carried {
    return {
      eta: Math.fround(lr / (1 + lambd * lr * step) ** alpha),
      mu: Math.fround(1 / Math.max(1, step - t0)),
    };
  }

  protected override scalars(group: ASGDOptions, step: number, carried: Carried): ASGDScalars {
    const { eta, mu } = { ...this.carry(group, step - 1), ...carried };
    return {
      weightDecay: group.weightDecay,
      decay: 1 - group.lambd * eta!,
      negEta: -eta!,
      mu: mu!,
    };
  }

  protected override update(bucket: Bucket<ASGDOptions>, scalars: Lifted<ASGDScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      param.mul_(scalars.decay);
      param.add_(grad, { alpha: scalars.negEta });
      lerp_(state.ax![i]!, param, scalars.mu);
    });
  }
}

trustUpdate(ASGD);
