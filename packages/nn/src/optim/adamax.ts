/**
 * @file `Adamax`: Adam with the infinity norm in place of the second moment.
 */
import { type Tensor, maximum, zerosLike } from '@tessera/tensor';
import { addcdiv_, lerp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkAdaptive } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `Adamax`. */
export interface AdamaxOptions extends CommonOptions {
  /** Decay of the running average and of the norm (default [0.9, 0.999]). */
  betas: readonly [number, number];
  /** Added to the magnitude of the gradient (default 1e-8). */
  eps: number;
  /** L2 penalty (default 0). */
  weightDecay: number;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface AdamaxScalars {
  readonly weightDecay: number;
  /** 1 - beta1 */
  readonly mix: number;
  readonly beta2: number;
  readonly eps: number;
  /** -lr / (1 - beta1^t) */
  readonly negStepSize: number;
}

/** Adamax; the default rate is 2e-3. @see torch.optim.Adamax @see Kingma and Ba, https://arxiv.org/abs/1412.6980 */
export class Adamax extends Optimizer<AdamaxOptions, AdamaxScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<AdamaxOptions>, options: OptionsInput<AdamaxOptions> = {}) {
    super(
      params,
      {
        lr: 2e-3,
        betas: [0.9, 0.999],
        eps: 1e-8,
        weightDecay: 0,
        maximize: false,
      },
      options,
    );
  }

  protected override checkOptions(group: AdamaxOptions): void {
    checkAdaptive(group);
  }

  protected override structure(group: AdamaxOptions): Structure {
    return { weightDecay: group.weightDecay !== 0, maximize: group.maximize };
  }

  protected override stateTensors(param: Tensor): Record<string, Tensor> {
    return { exp_avg: zerosLike(param), exp_inf: zerosLike(param) };
  }

  protected override scalars(group: AdamaxOptions, step: number): AdamaxScalars {
    const [beta1, beta2] = group.betas;
    return {
      weightDecay: group.weightDecay,
      mix: 1 - beta1,
      beta2,
      eps: group.eps,
      negStepSize: -(group.lr / (1 - beta1 ** step)),
    };
  }

  protected override update(bucket: Bucket<AdamaxOptions>, scalars: Lifted<AdamaxScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const mean = lerp_(state.exp_avg![i]!, grad, scalars.mix);
      const norm = state.exp_inf![i]!;
      norm.copy_(maximum(norm.mul(scalars.beta2), grad.abs().add_(scalars.eps)));
      addcdiv_(param, mean, norm, { value: scalars.negStepSize });
    });
  }
}

trustUpdate(Adamax);
