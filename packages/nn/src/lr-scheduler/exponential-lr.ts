/**
 * @file `ExponentialLR`: the rate falls by a factor every epoch.
 */
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `ExponentialLR`. */
export interface ExponentialLROptions extends ScheduleOptions {
  /** Factor of an epoch. */
  readonly gamma: number;
}

/** @see torch.optim.lr_scheduler.ExponentialLR */
export class ExponentialLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ExponentialLROptions, true>> = {
    gamma: true,
    lastEpoch: true,
  };
  static override readonly requiredOptions: readonly string[] = ['gamma'];

  readonly gamma: number;

  constructor(optimizer: ScheduledOptimizer, options: ExponentialLROptions) {
    super(optimizer, options);
    this.gamma = options.gamma;
    this.begin();
  }

  protected override rates(): number[] {
    const rates = this.currentRates();
    return this.isInitial ? rates : rates.map((rate) => rate * this.gamma);
  }
}
