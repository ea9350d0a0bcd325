/**
 * @file `CosineAnnealingWarmRestarts`: half cosines, each begun anew at the initial rate.
 */
import { TesseraError } from '@tessera/shared';
import {
  LRScheduler,
  type LRSchedulerState,
  type ScheduledOptimizer,
  type ScheduleOptions,
} from './lr-scheduler.js';
import { numberOr, readSchedulerState } from './read-scheduler-state.js';

/** Options of `CosineAnnealingWarmRestarts`. */
export interface CosineAnnealingWarmRestartsOptions extends ScheduleOptions {
  /** Epochs until the first restart. */
  readonly t0: number;
  /** Factor of the period after each restart (default 1). */
  readonly tMult?: number;
  /** The lowest rate (default 0). */
  readonly etaMin?: number;
}

/** Position of the schedule. */
export interface CosineAnnealingWarmRestartsState extends LRSchedulerState {
  /** Epochs since the last restart. */
  readonly tCur: number;
  /** Epochs from it to the next. */
  readonly tI: number;
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
    lastEpoch: true,
  };
  static override readonly requiredOptions: readonly string[] = ['t0'];

  readonly t0: number;
  readonly tMult: number;
  readonly etaMin: number;
  /** Epochs since the last restart, of which parts count. */
  private _at: number;
  /** Epochs from it to the next. */
  private _period: number;

  /** @throws invalid-argument */
  constructor(optimizer: ScheduledOptimizer, options: CosineAnnealingWarmRestartsOptions) {
    super(optimizer, options);
    this._at = this.lastEpoch;
    this.t0 = options.t0;
    this.tMult = options.tMult ?? 1;
    this.etaMin = options.etaMin ?? 0;
    this._period = this.t0;
    if (![this.t0, this.tMult].every((n) => Number.isInteger(n) && n >= 1)) {
      throw new TesseraError(
        'invalid-argument',
        `t0 (${this.t0}) and tMult (${this.tMult}) must be positive whole numbers.`,
        { hints: ['t0 is the number of epochs before the first restart.'] },
      );
    }
    this.begin();
  }

  /**
   * Moves to the next epoch, or to `epoch`, of which a part is a share of it: `step(epoch + batch / batches)` after
   * every batch.
   *
   * @throws invalid-argument for an epoch below 0
   */
  override step(epoch: number | null = null): void {
    if (epoch === null) {
      this._at++;
      if (this._at >= this._period) {
        this._at -= this._period;
        this._period *= this.tMult;
      }
    } else {
      if (!(epoch >= 0))
        throw new TesseraError(
          'invalid-argument',
          `Expected non-negative epoch, but got ${String(epoch)}`,
          { hints: ['Write step(), or step(epoch + batch / batches).'] },
        );
      this.seek(epoch);
      this.lastEpoch = Math.floor(epoch) - 1;
    }
    super.step();
  }

  override restart(): void {
    this.seek(0);
    this.lastEpoch = -1;
    super.step();
  }

  /** Finds the restart before an epoch. */
  private seek(epoch: number): void {
    this._at = this.tMult === 1 ? epoch % this.t0 : epoch;
    this._period = this.t0;
    while (this._at >= this._period) {
      this._at -= this._period;
      this._period *= this.tMult;
    }
  }

  protected override rates(): number[] {
    const share = this._at / this._period;
    return this.baseLrs.map(
      (rate) => this.etaMin + ((rate - this.etaMin) * (1 + Math.cos(Math.PI * share))) / 2,
    );
  }

  override stateDict(): CosineAnnealingWarmRestartsState {
    return { ...super.stateDict(), tCur: this._at, tI: this._period };
  }

  override loadStateDict(
    state: CosineAnnealingWarmRestartsState | Readonly<Record<string, unknown>>,
  ): void {
    super.loadStateDict(state);
    this.seek(this.lastEpoch);
    const read = readSchedulerState(state, this.constructor.name);
    this._at = numberOr(read.get('tCur') ?? read.get('TCur'), this._at);
    this._period = numberOr(read.get('tI') ?? read.get('TI'), this._period);
  }
}
