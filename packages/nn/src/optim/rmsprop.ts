/**
 * @file `RMSprop`: gradients divided by a running average of their magnitude.
 */
import { type Tensor, addcmul, sqrt, zerosLike } from '@tessera/tensor';
import { addcdiv_, addcmul_, lerp_, sqrt_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `RMSprop`. */
export interface RMSpropOptions extends CommonOptions {
  /** Decay of the running average of squares (default 0.99). */
  alpha: number;
  /** Added to the denominator (default 1e-8). */
  eps: number;
  /** L2 penalty (default 0). */
  weightDecay: number;
  /** Weight of the last update in the next (default 0). */
  momentum: number;
  /** Divides by the standard deviation instead of the root mean square (default false). */
  centered: boolean;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface RMSpropScalars {
  readonly negLr: number;
  readonly alpha: number;
  /** 1 - alpha */
  readonly mix: number;
  readonly eps: number;
  readonly weightDecay: number;
  readonly momentum: number;
}

/** RMSprop. @see torch.optim.RMSprop */
export class RMSprop extends Optimizer<RMSpropOptions, RMSpropScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<RMSpropOptions>, options: OptionsInput<RMSpropOptions> = {}) {
    super(
      params,
      {
        lr: 1e-2,
        alpha: 0.99,
        eps: 1e-8,
        weightDecay: 0,
        momentum: 0,
        centered: false,
        maximize: false,
      },
      options,
    );
  }

  protected override checkOptions(group: RMSpropOptions): void {
    checkNonNegative(group, 'lr', 'eps', 'momentum', 'weightDecay', 'alpha');
  }

  protected override structure(group: RMSpropOptions): Structure {
    return {
      weightDecay: group.weightDecay !== 0,
      momentum: group.momentum > 0,
      centered: group.centered,
      maximize: group.maximize,
    };
  }

  protected override stateTensors(param: Tensor, group: RMSpropOptions): Record<string, Tensor> {
    const tensors: Record<string, Tensor> = { square_avg: zerosLike(param) };
    if (group.momentum > 0) tensors.momentum_buffer = zerosLike(param);
    if (group.centered) tensors.grad_avg = zerosLike(param);
    return tensors;
  }

  protected override scalars(group: RMSpropOptions): RMSpropScalars {
    return {
      negLr: -group.lr,
      alpha: group.alpha,
      mix: 1 - group.alpha,
      eps: group.eps,
      weightDecay: group.weightDecay,
      momentum: group.momentum,
    };
  }

  protected override update(bucket: Bucket<RMSpropOptions>, scalars: Lifted<RMSpropScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const square = state.square_avg![i]!;
      addcmul_(square.mul_(scalars.alpha), grad, grad, { value: scalars.mix });
      let average: Tensor;
      if (structure.centered) {
        const mean = lerp_(state.grad_avg![i]!, grad, scalars.mix);
        average = sqrt_(addcmul(square, mean, mean, { value: -1 })).add_(scalars.eps);
      } else {
        average = sqrt(square).add_(scalars.eps);
      }
      if (structure.momentum) {
        const buffer = state.momentum_buffer![i]!;
        addcdiv_(buffer.mul_(scalars.momentum), grad, average);
        param.add_(buffer, { alpha: scalars.negLr });
      } else {
        addcdiv_(param, grad, average, { value: scalars.negLr });
      }
    });
  }
}

trustUpdate(RMSprop);
