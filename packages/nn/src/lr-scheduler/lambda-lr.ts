/**
 * @file `LambdaLR`: the rate is the initial one times a function of the epoch.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type ScheduledOptimizer } from './lr-scheduler.js';

/** Factor of the initial rate at an epoch. */
export type LRLambda = (epoch: number) => number;

/** @see torch.optim.lr_scheduler.LambdaLR */
export class LambdaLR extends LRScheduler {
  private readonly _lambdas: readonly LRLambda[];

  /** @throws invalid-argument unless there is one function, or one per group */
  constructor(optimizer: ScheduledOptimizer, lrLambda: LRLambda | readonly LRLambda[]) {
    super(optimizer);
    const groups = optimizer.paramGroups.length;
    this._lambdas =
      typeof lrLambda === 'function' ? optimizer.paramGroups.map(() => lrLambda) : lrLambda;
    if (this._lambdas.length !== groups) {
      throw new TesseraError(
        'invalid-argument',
        `Expected ${groups} lrLambdas, but got ${this._lambdas.length}`,
        { hints: ['Give one function for all groups, or one per group.'] },
      );
    }
    this.begin();
  }

  protected override rates(): number[] {
    return this.baseLrs.map((rate, i) => rate * this._lambdas[i]!(this.lastEpoch));
  }
}
