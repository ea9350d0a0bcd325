/**
 * @file `ChainedScheduler`: several schedules at once, each changing what the ones before it have set.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type LRSchedulerState, type ScheduledOptimizer } from './lr-scheduler.js';

/** Options of `ChainedScheduler`. */
export interface ChainedSchedulerOptions {
  /** In the order in which they take their steps. */
  readonly schedulers: readonly LRScheduler[];
}

/** Position of the schedule, and of those it is made of. */
export interface ChainedSchedulerState extends LRSchedulerState {
  readonly schedulers: readonly LRSchedulerState[];
}

/** @see torch.optim.lr_scheduler.ChainedScheduler */
export class ChainedScheduler extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof ChainedSchedulerOptions, true>> = {
    schedulers: true,
  };
  static override readonly listOptions: readonly string[] = ['schedulers'];
  static override readonly requiredOptions: readonly string[] = ['schedulers'];

  private readonly _schedulers: readonly LRScheduler[];

  /** @throws invalid-argument unless all belong to the optimizer */
  constructor(optimizer: ScheduledOptimizer, options: ChainedSchedulerOptions) {
    super(optimizer, options);
    const { schedulers } = options;
    if (schedulers.length === 0 || schedulers.some((s) => s.optimizer !== optimizer))
      throw new TesseraError(
        'invalid-argument',
        'ChainedScheduler expects at least one scheduler, and all of the same optimizer.',
        { hints: ['Make them with the optimizer that ChainedScheduler is given.'] },
      );
    this._schedulers = schedulers;
    this.lastEpoch = 0;
    this.noteRates(this.currentRates());
  }

  override step(): void {
    this.lastEpoch++;
    for (const scheduler of this._schedulers) scheduler.step();
    this.noteRates(this.currentRates());
  }

  override undo(): void {
    for (const scheduler of this._schedulers) scheduler.undo();
  }

  override restart(): void {
    this.lastEpoch = 0;
    for (const scheduler of this._schedulers) scheduler.restart();
    this.noteRates(this.currentRates());
  }

  protected override rates(): number[] {
    return this.currentRates();
  }

  override stateDict(): ChainedSchedulerState {
    return {
      ...super.stateDict(),
      schedulers: this._schedulers.map((scheduler) => scheduler.stateDict()),
    };
  }

  override loadStateDict(state: ChainedSchedulerState | Readonly<Record<string, unknown>>): void {
    this.loadParts(state, this._schedulers);
  }
}
