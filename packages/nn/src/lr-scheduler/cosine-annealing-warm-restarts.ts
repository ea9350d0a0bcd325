/**
 * @file `CosineAnnealingWarmRestarts`: half cosines, each begun anew at the initial rate.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type ScheduledOptimizer } from './lr-scheduler.js';

/** Options of `CosineAnnealingWarmRestarts`. */
export interface CosineAnnealingWarmRestartsOptions {
  /** Epochs until the first restart. */
  readonly t0: number;
  /** Factor of the period after each restart (default 1). */
  readonly tMult?: number;
  /** The lowest rate (default 0). */
  readonly etaMin?: number;
}

/** @see torch.optim.lr_scheduler.CosineAnnealingWarmRestarts @see Loshchilov and Hutter, https://arxiv.org/abs/1608.03983 */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<
    Record<keyof CosineAnnealingWarmRestartsOptions, true>
  > = {
    t0: true,
    tMult: true,
    etaMin: true,
  };

  readonly t0: number;
  readonly tMult: number;
  readonly etaMin: number;

  /** @throws invalid-argument */
  constructor(optimizer: ScheduledOptimizer, options: CosineAnnealingWarmRestartsOptions) {
    super(optimizer, options);
    this.t0 = options.t0;
    this.tMult = options.tMult ?? 1;
    this.etaMin = options.etaMin ?? 0;
    if (![this.t0, this.tMult].every((n) => Number.isInteger(n) && n >= 1)) {
      throw new TesseraError(
        'invalid-argument',
        `t0 (${this.t0}) and tMult (${this.tMult}) must be positive whole numbers.`,
        { hints: ['t0 is the number of epochs before the first restart.'] },
      );
    }
    this.step();
  }

  protected override rates(): number[] {
    let period = this.t0;
    let at = this.lastEpoch;
    while (at >= period) {
      at -= period;
      period *= this.tMult;
    }
    return this.baseLrs.map(
      (rate) => this.etaMin + ((rate - this.etaMin) * (1 + Math.cos((Math.PI * at) / period))) / 2,
    );
  }
}
