/**
 * @file `MultiplicativeLR`: the rate times a factor that the program computes at every epoch.
 */
import { type LRLambda, lambdasOf } from './lambda-lr.js';
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** @see torch.optim.lr_scheduler.MultiplicativeLR */
export class MultiplicativeLR extends LRScheduler {
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

  /** Begins from the rates that there are. */
  override restart(): void {
    this.lastEpoch = -1;
    this.step();
  }

  protected override rates(): number[] {
    const rates = this.currentRates();
    if (this.isInitial) return rates;
    return rates.map((rate, i) => rate * this._lambdas[i]!(this.lastEpoch));
  }
}
