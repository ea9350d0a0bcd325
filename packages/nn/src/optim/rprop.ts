/**
 * @file `Rprop`: steps whose size depends only on whether gradients keep their sign.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  fullLike,
  gt,
  lt,
  maskedFill,
  onesLike,
  sign,
  zerosLike,
} from '@tessera/tensor';
import { addcmul_, clamp_ } from '@tessera/tensor/internal';
import { trustUpdate } from './trusted-updates.js';
import type { Bucket, Structure } from './bucket.js';
import type { Lifted } from './lifted.js';
import { Optimizer } from './optimizer.js';
import { checkNonNegative, checkOption } from './option-checks.js';
import type { CommonOptions, OptimizerParams, OptionsInput } from './param-group.js';
import { stepGradient } from './step-gradient.js';

/** Options of `Rprop`. */
export interface RpropOptions extends CommonOptions {
  /** Factors of the step size where the sign changes and where it stays (default [0.5, 1.2]). */
  etas: readonly [number, number];
  /** Smallest and largest step (default [1e-6, 50]). */
  stepSizes: readonly [number, number];
  /** Ascends instead of descending (default false). */
  maximize: boolean;
}

/** Numbers of one step. */
export interface RpropScalars {
  readonly weightDecay: number;
  readonly shrinking: number;
  readonly growing: number;
  readonly smallest: number;
  readonly largest: number;
}

/** Resilient backpropagation, for gradients of the whole data set. The rate is the first step size. @see torch.optim.Rprop */
export class Rprop extends Optimizer<RpropOptions, RpropScalars> {
  /** @throws invalid-argument */
  constructor(params: OptimizerParams<RpropOptions>, options: OptionsInput<RpropOptions> = {}) {
    const defaults = { lr: 1e-2, maximize: false } as const;
    super(params, { ...defaults, etas: [0.5, 1.2], stepSizes: [1e-6, 50] }, options);
  }

  protected override checkOptions(group: RpropOptions): void {
    checkNonNegative(group, 'lr');
    const { etas, stepSizes } = group;
    for (const [name, pair] of Object.entries({ etas, stepSizes }))
      checkOption(Array.isArray(pair) && pair.length === 2, name, pair);
    const [shrinking, growing] = etas;
    if (!(shrinking > 0 && shrinking < 1 && growing > 1))
      throw new TesseraError('invalid-argument', `Invalid eta values: ${shrinking}, ${growing}`, {
        hints: ['The first is between 0 and 1, the second above 1.'],
      });
  }

  protected override structure(group: RpropOptions): Structure {
    return { weightDecay: false, maximize: group.maximize };
  }

  protected override stateTensors(param: Tensor, group: RpropOptions): Record<string, Tensor> {
    return { prev: zerosLike(param), step_size: fullLike(param, group.lr) };
  }

  protected override scalars({ etas, stepSizes }: RpropOptions): RpropScalars {
    const [shrinking, growing] = etas;
    const [smallest, largest] = stepSizes;
    return { weightDecay: 0, shrinking, growing, smallest, largest };
  }

  protected override update(bucket: Bucket<RpropOptions>, scalars: Lifted<RpropScalars>): void {
    const { params, state, structure } = bucket;
    params.forEach((param, i) => {
      const grad = stepGradient(param, structure, scalars);
      const [previous, sizes] = [state.prev![i]!, state.step_size![i]!];
      const agreement = grad.mul(previous);
      const turned = lt(agreement, 0);
      const kept = maskedFill(onesLike(sizes), gt(agreement, 0), scalars.growing);
      sizes.mul_(maskedFill(kept, turned, scalars.shrinking));
      clamp_(sizes, scalars.smallest, scalars.largest);
      // Where the sign changed, this step is left out, and the next counts as a first one.
      const used = maskedFill(grad, turned, 0);
      addcmul_(param, sign(used), sizes, { value: -1 });
      previous.copy_(used);
    });
  }
}

trustUpdate(Rprop);
