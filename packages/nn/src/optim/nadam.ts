/**
 * @file `NAdam`: Adam with Nesterov momentum.
 */
import { type Tensor, zerosLike } from '@tessera/tensor';
import { addcdiv_, addcmul_, lerp_, sqrt_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Carried, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkAdaptive, checkNonNegative } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `NAdam`. */
export interface NAdamOptions extends CommonOptions {
  /** Decay of the running averages of the gradient and its square (default [0.9, 0.999]). */
  betas: readonly [number, number];
  /** Added to the denominator (default 1e-8). */
  eps: number;
  /** Weight decay (default 0). */
  weightDecay: number;
  /** How fast the momentum approaches beta1 (default 4e-3). */
  momentumDecay: number;
  /** Weight decay shrinks the parameters instead of entering the gradient (default false). */
  decoupledWeightDecay: boolean;
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface NAdamScalars {
  readonly weightDecay: number;
  /** 1 - lr · weightDecay */
  readonly shrink: number;
  /** 1 - beta1 */
  readonly mix: number;
  readonly beta2: number;
  /** 1 - beta2 */
  readonly mixSquare: number;
  /** 1 - beta2^t */
  readonly correction2: number;
  readonly eps: number;
  /** Factor of the gradient in the update. */
  readonly gradientStep: number;
  /** Factor of the running average in the update. */
  readonly averageStep: number;
}

/** Momentum of update number `step`. */
function momentum({ betas, momentumDecay }: NAdamOptions, step: number): number {
  return betas[0] * (1 - 0.5 * 0.96 ** (step * momentumDecay));
}

/** NAdam; the default rate is 2e-3. @see torch.optim.NAdam @see Dozat, Incorporating Nesterov Momentum into Adam */
export class NAdam extends Optimizer<NAdamOptions, NAdamScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<NAdamOptions>, options: OptionsInput<NAdamOptions> = {}) {
    super(
      params,
      {
        lr: 2e-3,
        betas: [0.9, 0.999],
        eps: 1e-8,
        weightDecay: 0,
        momentumDecay: 4e-3,
        decoupledWeightDecay: false,
        maximize: false,
      },
      options,
    );
  }

  protected override checkOptions(group: NAdamOptions): void {
    checkAdaptive(group);
    checkNonNegative(group, 'momentumDecay');
  }

  protected override structure(group: NAdamOptions): Structure {
    return {
      weightDecay: group.weightDecay !== 0,
      decoupled: group.decoupledWeightDecay,
      maximize: group.maximize,
    };
  }

  protected override stateTensors(param: Tensor): Record<string, Tensor> {
    return { exp_avg: zerosLike(param), exp_avg_sq: zerosLike(param) };
  }

  /** Product of the momenta of all updates, rounded to float32 after each as PyTorch keeps it. */
  protected override carry(group: NAdamOptions, step: number, before: Carried): Carried {
    let product = before.mu_product ?? 1;
    // A state that was saved without the product had these options all along.
    for (let t = before.mu_product === undefined ? 1 : step; t <= step; t++)
      product = Math.fround(product * Math.fround(momentum(group, t)));
    return { mu_product: product };
  }

  protected override scalars(group: NAdamOptions, step: number, carried: Carried): NAdamScalars {
    const [beta1, beta2] = group.betas;
    const now = momentum(group, step);
    const next = momentum(group, step + 1);
    const product = this.carry(group, step, carried).mu_product!;
    return {
      weightDecay: group.weightDecay,
      shrink: 1 - group.lr * group.weightDecay,
      mix: 1 - beta1,
      beta2,
      mixSquare: 1 - beta2,
      correction2: 1 - beta2 ** step,
      eps: group.eps,
      gradientStep: (-group.lr * (1 - now)) / (1 - product),
      averageStep: (-group.lr * next) / (1 - product * next),
    };
  }

  protected override update(bucket: Bucket<NAdamOptions>, scalars: Lifted<NAdamScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const mean = lerp_(state.exp_avg![i]!, grad, scalars.mix);
      const square = state.exp_avg_sq![i]!;
      addcmul_(square.mul_(scalars.beta2), grad, grad, { value: scalars.mixSquare });
      const denominator = sqrt_(square.div(scalars.correction2)).add_(scalars.eps);
      addcdiv_(param, grad, denominator, { value: scalars.gradientStep });
      addcdiv_(param, mean, denominator, { value: scalars.averageStep });
    });
  }
}

trustUpdate(NAdam);
