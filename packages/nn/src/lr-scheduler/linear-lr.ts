/**
 * @file `LinearLR`: the rate moves linearly between two factors of the initial one.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `LinearLR`. */
export interface LinearLROptions extends ScheduleOptions {
  /** Factor of the initial rate at the start (default 1/3). */
  readonly startFactor?: number;
  /** Factor at the end (default 1). */
  readonly endFactor?: number;
  /** Epochs from one to the other (default 5). */
  readonly totalIters?: number;
}

/** @see torch.optim.lr_scheduler.LinearLR */
export class LinearLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof LinearLROptions, true>> = {
    startFactor: true,
    endFactor: true,
    totalIters: true,
    lastEpoch: true,
  };

  readonly startFactor: number;
  readonly endFactor: number;
  readonly totalIters: number;

  /** @throws invalid-argument if a factor is out of range */
  constructor(optimizer: ScheduledOptimizer, options: LinearLROptions = {}) {
    super(optimizer, options);
    this.startFactor = options.startFactor ?? 1 / 3;
    this.endFactor = options.endFactor ?? 1;
    this.totalIters = options.totalIters ?? 5;
    if (!(
      this.startFactor > 0 &&
      this.startFactor <= 1 &&
      this.endFactor >= 0 &&
      this.endFactor <= 1
    )) {
      throw new TesseraError(
        'invalid-argument',
        `LinearLR: startFactor ${this.startFactor} must be in (0, 1] and endFactor ${this.endFactor} in [0, 1]`,
        { hints: ['Set the highest rate on the optimizer and scale down from it.'] },
      );
    }
    this.begin();
  }

  protected override rates(): number[] {
    const { lastEpoch: epoch, startFactor, endFactor, totalIters } = this;
    const rates = this.currentRates();
    if (epoch === 0) return rates.map((rate) => rate * startFactor);
    if (this.isInitial || epoch > totalIters) return rates;
    const change = endFactor - startFactor;
    return rates.map(
      (rate) => rate * (1 + change / (totalIters * startFactor + (epoch - 1) * change)),
    );
  }
}
