/**
 * @file `StepLR`: the rate falls by a factor every so many epochs.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `StepLR`. */
export interface StepLROptions extends ScheduleOptions {
  /** Epochs between two drops. */
  readonly stepSize: number;
  /** Factor of a drop (default 0.1). */
  readonly gamma?: number;
}

/** @see torch.optim.lr_scheduler.StepLR */
export class StepLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof StepLROptions, true>> = {
    stepSize: true,
    gamma: true,
    lastEpoch: true,
  };
  static override readonly requiredOptions: readonly string[] = ['stepSize'];

  readonly stepSize: number;
  readonly gamma: number;

  /** @throws invalid-argument */
  constructor(optimizer: ScheduledOptimizer, options: StepLROptions) {
    super(optimizer, options);
    this.stepSize = options.stepSize;
    if (!Number.isInteger(this.stepSize) || this.stepSize < 1) {
      throw new TesseraError(
        'invalid-argument',
        `StepLR: stepSize must be a positive whole number, not ${this.stepSize}.`,
        { hints: ['It is the number of epochs between two drops.'] },
      );
    }
    this.gamma = options.gamma ?? 0.1;
    this.begin();
  }

  protected override rates(): number[] {
    const rates = this.currentRates();
    if (this.lastEpoch === 0 || this.lastEpoch % this.stepSize !== 0) return rates;
    return rates.map((rate) => rate * this.gamma);
  }
}
