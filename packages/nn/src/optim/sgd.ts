/**
 * @file `SGD`: stochastic gradient descent with momentum.
 */
import { type Tensor, zerosLike } from '@tessera/tensor';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative, checkOption } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `SGD`. */
export interface SGDOptions extends CommonOptions {
  /** Weight of the last update in the next (default 0). */
  momentum: number;
  /** How much of the gradient the momentum leaves out (default 0). */
  dampening: number;
  /** L2 penalty (default 0). */
  weightDecay: number;
  /** Nesterov's momentum (default false). */
  nesterov: boolean;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface SGDScalars {
  readonly negLr: number;
  readonly momentum: number;
  readonly gradScale: number;
  readonly weightDecay: number;
}

/** Stochastic gradient descent. @see torch.optim.SGD */
export class SGD extends Optimizer<SGDOptions, SGDScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<SGDOptions>, options: OptionsInput<SGDOptions> = {}) {
    super(
      params,
      {
        lr: 1e-3,
        momentum: 0,
        dampening: 0,
        weightDecay: 0,
        nesterov: false,
        maximize: false,
      },
      options,
    );
  }

  protected override checkOptions(group: SGDOptions): void {
    checkNonNegative(group, 'lr', 'momentum', 'weightDecay');
    checkOption(
      !group.nesterov || (group.momentum > 0 && group.dampening === 0),
      'momentum and dampening (nesterov needs a momentum and zero dampening)',
      [group.momentum, group.dampening],
    );
  }

  protected override structure(group: SGDOptions): Structure {
    return {
      momentum: group.momentum !== 0,
      weightDecay: group.weightDecay !== 0,
      nesterov: group.nesterov,
      maximize: group.maximize,
    };
  }

  protected override stateTensors(param: Tensor, group: SGDOptions): Record<string, Tensor> {
    return group.momentum === 0 ? {} : { momentum_buffer: zerosLike(param) };
  }

  protected override scalars(group: SGDOptions, step: number): SGDScalars {
    // PyTorch starts the buffer as a copy of the first gradient; ours starts at zero, so it is added whole.
    return {
      negLr: -group.lr,
      momentum: group.momentum,
      gradScale: step === 1 ? 1 : 1 - group.dampening,
      weightDecay: group.weightDecay,
    };
  }

  protected override update(bucket: Bucket<SGDOptions>, scalars: Lifted<SGDScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      let grad = stepGradient(param, structure, scalars);
      if (structure.momentum) {
        const buffer = state.momentum_buffer![i]!;
        buffer.mul_(scalars.momentum).add_(grad, { alpha: scalars.gradScale });
        grad = structure.nesterov ? grad.add(buffer, { alpha: scalars.momentum }) : buffer;
      }
      param.add_(grad, { alpha: scalars.negLr });
    });
  }
}

trustUpdate(SGD);
