/**
 * @file `PolynomialLR`: the rate falls to zero along a power.
 */
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `PolynomialLR`. */
export interface PolynomialLROptions extends ScheduleOptions {
  /** Epochs until the rate is zero (default 5). */
  readonly totalIters?: number;
  /** The power (default 1). */
  readonly power?: number;
}

/** @see torch.optim.lr_scheduler.PolynomialLR */
export class PolynomialLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof PolynomialLROptions, true>> = {
    totalIters: true,
    power: true,
    lastEpoch: true,
  };

  readonly totalIters: number;
  readonly power: number;

  constructor(optimizer: ScheduledOptimizer, options: PolynomialLROptions = {}) {
    super(optimizer, options);
    this.totalIters = options.totalIters ?? 5;
    this.power = options.power ?? 1;
    this.begin();
  }

  protected override rates(): number[] {
    const { lastEpoch: epoch, totalIters, power } = this;
    const rates = this.currentRates();
    if (this.isInitial || epoch > totalIters) return rates;
    const factor = ((1 - epoch / totalIters) / (1 - (epoch - 1) / totalIters)) ** power;
    return rates.map((rate) => rate * factor);
  }
}
