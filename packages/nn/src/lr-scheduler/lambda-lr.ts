/**
 * @file `LambdaLR`: the rate is the initial one times a function of the epoch.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Factor of the initial rate at an epoch. */
export type LRLambda = (epoch: number) => number;

/** A function for each group. @throws invalid-argument */
export function lambdasOf(
  { paramGroups }: ScheduledOptimizer,
  given: LRLambda | readonly LRLambda[],
): readonly LRLambda[] {
  const lambdas = typeof given === 'function' ? paramGroups.map(() => given) : given;
  if (!Array.isArray(lambdas) || lambdas.length !== paramGroups.length)
    throw new TesseraError(
      'invalid-argument',
      `Expected ${paramGroups.length} lrLambdas, but got ${Array.isArray(lambdas) ? lambdas.length : String(lambdas)}`,
      { hints: ['Give one function for all groups, or one per group.'] },
    );
  return lambdas;
}

/** @see torch.optim.lr_scheduler.LambdaLR */
export class LambdaLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ScheduleOptions, true>> = {
    lastEpoch: true,
  };

  private readonly _lambdas: readonly LRLambda[];

  /** @throws invalid-argument unless there is one function, or one per group */
  constructor(
    optimizer: ScheduledOptimizer,
    lrLambda: LRLambda | readonly LRLambda[],
    options: ScheduleOptions = {},
  ) {
    super(optimizer, options);
    this._lambdas = lambdasOf(optimizer, lrLambda);
    this.begin();
  }

  protected override rates(): number[] {
    return this.baseLrs.map((rate, i) => rate * this._lambdas[i]!(this.lastEpoch));
  }
}
