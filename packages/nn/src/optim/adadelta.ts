/**
 * @file `Adadelta`: step sizes from the ratio of two running averages.
 */
import { type Tensor, zerosLike } from '@tessera/tensor';
import { addcmul_, sqrt_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative, checkOption } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `Adadelta`. */
export interface AdadeltaOptions extends CommonOptions {
  /** Decay of the running averages (default 0.9). */
  rho: number;
  /** Added under the roots (default 1e-6). */
  eps: number;
  /** L2 penalty (default 0). */
  weightDecay: number;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface AdadeltaScalars {
  readonly negLr: number;
  readonly rho: number;
  /** 1 - rho */
  readonly mix: number;
  readonly eps: number;
  readonly weightDecay: number;
}

/** Adadelta; the default rate is 1. @see torch.optim.Adadelta @see Zeiler, https://arxiv.org/abs/1212.5701 */
export class Adadelta extends Optimizer<AdadeltaOptions, AdadeltaScalars> {
  /** @throws invalid-argument */
  constructor(
    params: OptimizerParams<AdadeltaOptions>,
    options: OptionsInput<AdadeltaOptions> = {},
  ) {
    super(params, { lr: 1, rho: 0.9, eps: 1e-6, weightDecay: 0, maximize: false }, options);
  }

  protected override checkOptions(group: AdadeltaOptions): void {
    checkNonNegative(group, 'lr', 'eps', 'weightDecay');
    checkOption(group.rho >= 0 && group.rho <= 1, 'rho', group.rho);
  }

  protected override structure(group: AdadeltaOptions): Structure {
    return { weightDecay: group.weightDecay !== 0, maximize: group.maximize };
  }

  protected override stateTensors(param: Tensor): Record<string, Tensor> {
    return { square_avg: zerosLike(param), acc_delta: zerosLike(param) };
  }

  protected override scalars(group: AdadeltaOptions): AdadeltaScalars {
    const { lr, rho, eps, weightDecay } = group;
    return { negLr: -lr, rho, mix: 1 - rho, eps, weightDecay };
  }

  protected override update(
    bucket: Bucket<AdadeltaOptions>,
    scalars: Lifted<AdadeltaScalars>,
  ): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const square = state.square_avg![i]!;
      const accumulated = state.acc_delta![i]!;
      addcmul_(square.mul_(scalars.rho), grad, grad, { value: scalars.mix });
      const deviation = sqrt_(square.add(scalars.eps));
      const delta = sqrt_(accumulated.add(scalars.eps)).div_(deviation).mul_(grad);
      addcmul_(accumulated.mul_(scalars.rho), delta, delta, { value: scalars.mix });
      param.add_(delta, { alpha: scalars.negLr });
    });
  }
}

trustUpdate(Adadelta);
