/**
 * @file `SWALR`: the rate moves to a constant one within some epochs.
 */
import { TesseraError } from '@tessera/shared';
import {
  LRScheduler,
  type ScheduledOptimizer,
  type ScheduleOptions,
} from '../lr-scheduler/lr-scheduler.js';

/** Options of `SWALR`. */
export interface SWALROptions extends ScheduleOptions {
  /** The rate at the end, of all groups or of each. */
  readonly swaLr: number | readonly number[];
  /** Epochs on the way there (default 10). */
  readonly annealEpochs?: number;
  /** Shape of the way (default `cos`). */
  readonly annealStrategy?: 'cos' | 'linear';
}

/** @see torch.optim.swa_utils.SWALR */
export class SWALR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof SWALROptions, true>> = {
    swaLr: true,
    annealEpochs: true,
    annealStrategy: true,
    lastEpoch: true,
  };
  static override readonly requiredOptions: readonly string[] = ['swaLr'];

  private readonly _targets: readonly number[];
  /** The epoch that the way begins at: as in PyTorch, one that is resumed begins anew. */
  private readonly _first: number;
  private readonly _epochs: number;
  private readonly _shape: (share: number) => number;

  /** @throws invalid-argument */
  constructor(optimizer: ScheduledOptimizer, options: SWALROptions) {
    super(optimizer, options);
    const { swaLr, annealEpochs = 10, annealStrategy = 'cos' } = options;
    this._targets = optimizer.paramGroups.map((_, i) =>
      typeof swaLr === 'number' ? swaLr : (swaLr[i] ?? Number.NaN),
    );
    const known = annealStrategy === 'cos' || annealStrategy === 'linear';
    const whole = Number.isInteger(annealEpochs) && annealEpochs >= 0;
    if (!known || !whole || this._targets.some((rate) => Number.isNaN(rate)))
      throw new TesseraError(
        'invalid-argument',
        `SWALR: invalid options: annealStrategy '${String(annealStrategy)}', annealEpochs ${annealEpochs}, swaLr ${String(swaLr)}.`,
        {
          hints: [
            "annealStrategy is 'cos' or 'linear', annealEpochs a whole number of at least 0, and swaLr one rate or one for each group.",
          ],
        },
      );
    this._first = this.lastEpoch + 1;
    this._epochs = annealEpochs;
    this._shape = annealStrategy === 'linear' ? (t) => t : (t) => (1 - Math.cos(Math.PI * t)) / 2;
    this.begin();
  }

  /** Begins from the rates that there are. */
  override restart(): void {
    this.lastEpoch = -1;
    this.step();
  }

  /** Weight of the target after `epoch` epochs. */
  private weight(epoch: number): number {
    return this._shape(Math.max(0, Math.min(1, epoch / Math.max(1, this._epochs))));
  }

  protected override rates(): number[] {
    const passed = this.lastEpoch - this._first;
    const epoch = this._epochs === 0 ? Math.max(1, passed) : passed;
    const [before, now] = [this.weight(epoch - 1), this.weight(epoch)];
    return this.currentRates().map((rate, i) => {
      const target = this._targets[i]!;
      // The rate that the way began with, from where it is now.
      const first = before === 1 ? target : (rate - before * target) / (1 - before);
      return target * now + first * (1 - now);
    });
  }
}
