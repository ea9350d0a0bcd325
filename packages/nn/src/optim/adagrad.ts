/**
 * @file `Adagrad`: gradients divided by the root of the sum of their squares so far.
 */
import { type Tensor, addcdiv_, addcmul_, fullLike, sqrt } from '@tessera/tensor';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { type CommonOptions, type OptimizerParams, checkOption } from './param-group.js';

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
  constructor(params: OptimizerParams<AdagradOptions>, options: Partial<AdagradOptions> = {}) {
    super(params, {
      lr: 1e-2,
      lrDecay: 0,
      weightDecay: 0,
      initialAccumulatorValue: 0,
      eps: 1e-10,
      maximize: false,
      ...options,
    });
  }

  protected override checkOptions(group: AdagradOptions): void {
    checkOption(group.lr >= 0, 'lr', group.lr);
    checkOption(group.lrDecay >= 0, 'lrDecay', group.lrDecay);
    checkOption(group.weightDecay >= 0, 'weightDecay', group.weightDecay);
    checkOption(
      group.initialAccumulatorValue >= 0,
      'initialAccumulatorValue',
      group.initialAccumulatorValue,
    );
    checkOption(group.eps >= 0, 'eps', group.eps);
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
      let grad = structure.maximize ? param.grad!.neg() : param.grad!;
      if (structure.weightDecay) grad = grad.add(param, { alpha: scalars.weightDecay });
      const sum = addcmul_(state.sum![i]!, grad, grad, { value: 1 });
      addcdiv_(param, grad, sqrt(sum).add_(scalars.eps), { value: scalars.negLr });
    });
  }
}
