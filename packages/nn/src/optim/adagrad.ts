/**
 * @file `Adagrad`: gradients divided by the root of the sum of their squares so far.
 */
import { type Tensor, fullLike, sqrt } from '@tessera/tensor';
import { addcdiv_, addcmul_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `Adagrad`. */
export interface AdagradOptions extends CommonOptions {
  /** Decay of the learning rate per step (default 0). */
  lrDecay: number;
  /** L2 penalty (default 0). */
  weightDecay: number;
  /** Where the sums of squares start (default 0). */
  initialAccumulatorValue: number;
  /** Added to the denominator (default 1e-10). */
  eps: number;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface AdagradScalars {
  readonly negLr: number;
  readonly eps: number;
  readonly weightDecay: number;
}

/** Adagrad. @see torch.optim.Adagrad */
export class Adagrad extends Optimizer<AdagradOptions, AdagradScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<AdagradOptions>, options: OptionsInput<AdagradOptions> = {}) {
    super(
      params,
      {
        lr: 1e-2,
        lrDecay: 0,
        weightDecay: 0,
        initialAccumulatorValue: 0,
        eps: 1e-10,
        maximize: false,
      },
      options,
    );
  }

  protected override checkOptions(group: AdagradOptions): void {
    checkNonNegative(group, 'lr', 'lrDecay', 'weightDecay', 'eps', 'initialAccumulatorValue');
  }

  protected override structure(group: AdagradOptions): Structure {
    return { weightDecay: group.weightDecay !== 0, maximize: group.maximize };
  }

  protected override stateTensors(param: Tensor, group: AdagradOptions): Record<string, Tensor> {
    return { sum: fullLike(param, group.initialAccumulatorValue) };
  }

  protected override scalars(group: AdagradOptions, step: number): AdagradScalars {
    return {
      negLr: -(group.lr / (1 + (step - 1) * group.lrDecay)),
      eps: group.eps,
      weightDecay: group.weightDecay,
    };
  }

  protected override update(bucket: Bucket<AdagradOptions>, scalars: Lifted<AdagradScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const sum = addcmul_(state.sum![i]!, grad, grad, { value: 1 });
      addcdiv_(param, grad, sqrt(sum).add_(scalars.eps), { value: scalars.negLr });
    });
  }
}

trustUpdate(Adagrad);
