/**
 * @file `ASGD`: gradient descent with a falling rate, and the average of the parameters on the way.
 */
import { type Tensor, zerosLike } from '@tessera/tensor';
import { lerp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative } from './option-checks.js';
import type { CommonOptions, OptimizerParams } from './param-group.js';
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

/** The rate that update `step + 1` uses. */
function etaAfter(group: ASGDOptions, lr: number, step: number): number {
  return step === 0 ? lr : lr / (1 + group.lambd * lr * step) ** group.alpha;
}

/**
 * Averaged stochastic gradient descent; the averages are `stateOf(param).tensors.ax`.
 *
 * A step uses the rate that the step before it has set, as in PyTorch: a new `lr` counts from the step after
 * the next. @see torch.optim.ASGD
 */
export class ASGD extends Optimizer<ASGDOptions, ASGDScalars> {
  /** What each step of a group has set for the one after it. */
  private readonly _etas: WeakMap<ASGDOptions, Map<number, number>> = new WeakMap();

  /** @throws invalid-argument */
  constructor(params: OptimizerParams<ASGDOptions>, options: Partial<ASGDOptions> = {}) {
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

  protected override hostState(group: ASGDOptions, step: number): Record<string, number> {
    return {
      eta: this.etasOf(group).get(step) ?? etaAfter(group, group.lr, step),
      mu: 1 / Math.max(1, step - group.t0),
    };
  }

  protected override restoreHostState(
    group: ASGDOptions,
    step: number,
    { eta }: Readonly<Record<string, number>>,
  ): void {
    if (eta !== undefined) this.etasOf(group).set(step, eta);
  }

  private etasOf(group: ASGDOptions): Map<number, number> {
    let etas = this._etas.get(group);
    if (etas === undefined) this._etas.set(group, (etas = new Map()));
    return etas;
  }

  protected override scalars(group: ASGDOptions, step: number): ASGDScalars {
    const etas = this.etasOf(group);
    const eta = etas.get(step - 1) ?? etaAfter(group, group.lr, step - 1);
    etas.delete(step - 1);
    etas.set(step, etaAfter(group, group.lr, step));
    return {
      weightDecay: group.weightDecay,
      decay: 1 - group.lambd * eta,
      negEta: -eta,
      mu: 1 / Math.max(1, step - 1 - group.t0),
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
