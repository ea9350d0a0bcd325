/**
 * @file `RAdam`: Adam that leaves out its denominator while the second moment is too uncertain.
 */
import { type Tensor, reciprocal, sqrt, zerosLike } from '@tessera/tensor';
import { addcmul_, lerp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkAdaptive } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `RAdam`. */
export interface RAdamOptions extends CommonOptions {
  /** Decay of the running averages of the gradient and its square (default [0.9, 0.999]). */
  betas: readonly [number, number];
  /** Added to the denominator (default 1e-8). */
  eps: number;
  /** Weight decay (default 0). */
  weightDecay: number;
  /** Weight decay shrinks the parameters instead of entering the gradient (default false). */
  decoupledWeightDecay: boolean;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface RAdamScalars {
  readonly weightDecay: number;
  /** 1 - lr · weightDecay */
  readonly shrink: number;
  /** 1 - beta1 */
  readonly mix: number;
  readonly beta2: number;
  /** 1 - beta2 */
  readonly mixSquare: number;
  readonly eps: number;
  /** -lr / (1 - beta1^t) */
  readonly negStepSize: number;
  /** Weight of the adaptive part; 0 in the first steps. */
  readonly adaptive: number;
  /** Weight of the plain part: 1 in the first steps, 0 later. */
  readonly plain: number;
}

/** RAdam. @see torch.optim.RAdam @see Liu et al., https://arxiv.org/abs/1908.03265 */
export class RAdam extends Optimizer<RAdamOptions, RAdamScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<RAdamOptions>, options: OptionsInput<RAdamOptions> = {}) {
    super(
      params,
      {
        lr: 1e-3,
        betas: [0.9, 0.999],
        eps: 1e-8,
        weightDecay: 0,
        decoupledWeightDecay: false,
        maximize: false,
      },
      options,
    );
  }

  protected override checkOptions(group: RAdamOptions): void {
    checkAdaptive(group);
  }

  protected override structure(group: RAdamOptions): Structure {
    return {
      weightDecay: group.weightDecay !== 0,
      decoupled: group.decoupledWeightDecay,
      maximize: group.maximize,
    };
  }

  protected override stateTensors(param: Tensor): Record<string, Tensor> {
    return { exp_avg: zerosLike(param), exp_avg_sq: zerosLike(param) };
  }

  protected override scalars(group: RAdamOptions, step: number): RAdamScalars {
    const [beta1, beta2] = group.betas;
    const correction2 = 1 - beta2 ** step;
    // Length of the approximated simple moving average, and its limit.
    const limit = 2 / (1 - beta2) - 1;
    const length = limit - (2 * step * beta2 ** step) / correction2;
    const certain = length > 5;
    const rectification = certain
      ? Math.sqrt(((length - 4) * (length - 2) * limit) / ((limit - 4) * (limit - 2) * length))
      : 0;
    return {
      weightDecay: group.weightDecay,
      shrink: 1 - group.lr * group.weightDecay,
      mix: 1 - beta1,
      beta2,
      mixSquare: 1 - beta2,
      eps: group.eps,
      negStepSize: -(group.lr / (1 - beta1 ** step)),
      adaptive: Math.sqrt(correction2) * rectification,
      plain: certain ? 0 : 1,
    };
  }

  // Both parts are always computed and weighted, so that no step needs other ops than the one before.
  protected override update(bucket: Bucket<RAdamOptions>, scalars: Lifted<RAdamScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const mean = lerp_(state.exp_avg![i]!, grad, scalars.mix);
      const square = state.exp_avg_sq![i]!;
      addcmul_(square.mul_(scalars.beta2), grad, grad, { value: scalars.mixSquare });
      const factor = reciprocal(sqrt(square).add_(scalars.eps))
        .mul_(scalars.adaptive)
        .add_(scalars.plain);
      addcmul_(param, mean, factor, { value: scalars.negStepSize });
    });
  }
}

trustUpdate(RAdam);
