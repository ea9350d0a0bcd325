/**
 * @file `CosineAnnealingLR`: the rate falls along half a cosine.
 */
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `CosineAnnealingLR`. */
export interface CosineAnnealingLROptions extends ScheduleOptions {
  /** Epochs from the highest rate to the lowest. */
  readonly tMax: number;
  /** The lowest rate (default 0). */
  readonly etaMin?: number;
}

/** @see torch.optim.lr_scheduler.CosineAnnealingLR @see Loshchilov and Hutter, https://arxiv.org/abs/1608.03983 */
export class CosineAnnealingLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof CosineAnnealingLROptions, true>> = {
    tMax: true,
    etaMin: true,
    lastEpoch: true,
  };
  static override readonly requiredOptions: readonly string[] = ['tMax'];

  readonly tMax: number;
  readonly etaMin: number;

  constructor(optimizer: ScheduledOptimizer, options: CosineAnnealingLROptions) {
    super(optimizer, options);
    this.tMax = options.tMax;
    this.etaMin = options.etaMin ?? 0;
    this.begin();
  }

  protected override rates(): number[] {
    const { lastEpoch: epoch, tMax, etaMin } = this;
    const rates = this.currentRates();
    if (this.isInitial) return rates;
    // Behind the minimum the factor below would be 0/0: the rate climbs from there by its own formula.
    if ((epoch - 1 - tMax) % (2 * tMax) === 0)
      return rates.map(
        (rate, i) => rate + ((this.baseLrs[i]! - etaMin) * (1 - Math.cos(Math.PI / tMax))) / 2,
      );
    const factor =
      (1 + Math.cos((Math.PI * epoch) / tMax)) / (1 + Math.cos((Math.PI * (epoch - 1)) / tMax));
    return rates.map((rate) => factor * (rate - etaMin) + etaMin);
  }
}
