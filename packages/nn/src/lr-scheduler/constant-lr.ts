/**
 * @file `ConstantLR`: a smaller rate for the first epochs.
 */
import { LRScheduler, type ScheduledOptimizer } from './lr-scheduler.js';

/** Options of `ConstantLR`. */
export interface ConstantLROptions {
  /** Factor of the initial rate (default 1/3). */
  readonly factor?: number;
  /** Epochs for which it holds (default 5). */
  readonly totalIters?: number;
}

/** @see torch.optim.lr_scheduler.ConstantLR */
export class ConstantLR extends LRScheduler {
  readonly factor: number;
  readonly totalIters: number;

  constructor(optimizer: ScheduledOptimizer, options: ConstantLROptions = {}) {
    super(optimizer);
    this.factor = options.factor ?? 1 / 3;
    this.totalIters = options.totalIters ?? 5;
    this.step();
  }

  protected override rates(): number[] {
    const rates = this.currentRates();
    if (this.lastEpoch === 0) return rates.map((rate) => rate * this.factor);
    return this.lastEpoch === this.totalIters ? rates.map((rate) => rate / this.factor) : rates;
  }
}
