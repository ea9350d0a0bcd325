/**
 * @file `Adam` and `AdamW`: adaptive moments, with weight decay in the gradient or apart from it.
 */
import { checkOptionNames } from '@tessera/shared';
import { type Tensor, maximum, sqrt, zerosLike } from '@tessera/tensor';
import { addcdiv_, addcmul_, lerp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkAdaptive } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `Adam` and `AdamW`. */
export interface AdamOptions extends CommonOptions {
  /** Decay of the running averages of the gradient and its square (default [0.9, 0.999]). */
  betas: readonly [number, number];
  /** Added to the denominator (default 1e-8). */
  eps: number;
  /** Weight decay: 0 by default for Adam, 0.01 for AdamW. */
  weightDecay: number;
  /** Divides by the maximum of the second moments so far (default false). */
  amsgrad: boolean;
  /** Whether weight decay shrinks the parameters instead of entering the gradient: false for Adam, true for AdamW. */
  decoupledWeightDecay: boolean;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface AdamScalars {
  readonly weightDecay: number;
  /** 1 - lr · weightDecay */
  readonly shrink: number;
  /** 1 - beta1 */
  readonly mix: number;
  readonly beta2: number;
  /** 1 - beta2 */
  readonly mixSquare: number;
  /** √(1 - beta2^t) */
  readonly correction2: number;
  readonly eps: number;
  /** -lr / (1 - beta1^t) */
  readonly negStepSize: number;
}

/** Adam. @see torch.optim.Adam @see Kingma and Ba, https://arxiv.org/abs/1412.6980 */
export class Adam extends Optimizer<AdamOptions, AdamScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<AdamOptions>, options: OptionsInput<AdamOptions> = {}) {
    super(
      params,
      {
        lr: 1e-3,
        betas: [0.9, 0.999],
        eps: 1e-8,
        weightDecay: 0,
        decoupledWeightDecay: false,
        amsgrad: false,
        maximize: false,
      },
      options,
    );
  }

  protected override checkOptions(group: AdamOptions): void {
    checkAdaptive(group);
  }

  protected override structure(group: AdamOptions): Structure {
    return {
      weightDecay: group.weightDecay !== 0,
      decoupled: group.decoupledWeightDecay,
      amsgrad: group.amsgrad,
      maximize: group.maximize,
    };
  }

  protected override stateTensors(param: Tensor, group: AdamOptions): Record<string, Tensor> {
    const averages = { exp_avg: zerosLike(param), exp_avg_sq: zerosLike(param) };
    return group.amsgrad ? { ...averages, max_exp_avg_sq: zerosLike(param) } : averages;
  }

  protected override scalars(group: AdamOptions, step: number): AdamScalars {
    const [beta1, beta2] = group.betas;
    return {
      weightDecay: group.weightDecay,
      shrink: 1 - group.lr * group.weightDecay,
      mix: 1 - beta1,
      beta2,
      mixSquare: 1 - beta2,
      correction2: Math.sqrt(1 - beta2 ** step),
      eps: group.eps,
      negStepSize: -(group.lr / (1 - beta1 ** step)),
    };
  }

  protected override update(bucket: Bucket<AdamOptions>, scalars: Lifted<AdamScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const mean = state.exp_avg![i]!;
      let square = state.exp_avg_sq![i]!;
      lerp_(mean, grad, scalars.mix);
      addcmul_(square.mul_(scalars.beta2), grad, grad, { value: scalars.mixSquare });
      if (structure.amsgrad)
        square = state.max_exp_avg_sq![i]!.copy_(maximum(state.max_exp_avg_sq![i]!, square));
      const denominator = sqrt(square).div(scalars.correction2).add_(scalars.eps);
      addcdiv_(param, mean, denominator, { value: scalars.negStepSize });
    });
  }
}

/** Adam with decoupled weight decay. @see torch.optim.AdamW @see Loshchilov and Hutter, https://arxiv.org/abs/1711.05101 */
export class AdamW extends Adam {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<AdamOptions>, options: OptionsInput<AdamOptions> = {}) {
    // A spread makes an object of anything: `new AdamW(params, 0.1)` would ignore the number.
    checkOptionNames('AdamW', options, { lr: true, ...options });
    super(params, { weightDecay: 1e-2, ...options, decoupledWeightDecay: true });
  }
}

trustUpdate(Adam);
