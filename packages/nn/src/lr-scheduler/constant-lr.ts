/**
 * @file `ConstantLR`: a smaller rate for the first epochs.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `ConstantLR`. */
export interface ConstantLROptions extends ScheduleOptions {
  /** Factor of the initial rate (default 1/3). */
  readonly factor?: number;
  /** Epochs for which it holds (default 5). */
  readonly totalIters?: number;
}

/** @see torch.optim.lr_scheduler.ConstantLR */
export class ConstantLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ConstantLROptions, true>> = {
    factor: true,
    totalIters: true,
    lastEpoch: true,
  };

  readonly factor: number;
  readonly totalIters: number;

  /** @throws invalid-argument unless the factor is in [0, 1] */
  constructor(optimizer: ScheduledOptimizer, options: ConstantLROptions = {}) {
    super(optimizer, options);
    this.factor = options.factor ?? 1 / 3;
    this.totalIters = options.totalIters ?? 5;
    if (!(this.factor >= 0 && this.factor <= 1))
      throw new TesseraError(
        'invalid-argument',
        `ConstantLR: factor must be between 0 and 1, not ${this.factor}`,
        { hints: ['Set the highest rate on the optimizer and scale down from it.'] },
      );
    this.begin();
  }

  protected override rates(): number[] {
    const rates = this.currentRates();
    if (this.lastEpoch === 0) return rates.map((rate) => rate * this.factor);
    return this.lastEpoch === this.totalIters ? rates.map((rate) => rate / this.factor) : rates;
  }
}
