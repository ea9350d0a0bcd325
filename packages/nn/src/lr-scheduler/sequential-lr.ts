/**
 * @file `SequentialLR`: one schedule after another.
 */
import { TesseraError } from '@tessera/shared';
import { LRScheduler, type LRSchedulerState, type ScheduledOptimizer } from './lr-scheduler.js';

/** Options of `SequentialLR`. */
export interface SequentialLROptions {
  /** In order; each counts its epochs from its own start. */
  readonly schedulers: readonly LRScheduler[];
  /** Epochs at which the next one takes over. */
  readonly milestones: readonly number[];
}

/** Position of the schedule, and of those it is made of. */
export interface SequentialLRState extends LRSchedulerState {
  readonly schedulers: readonly LRSchedulerState[];
}

/** @see torch.optim.lr_scheduler.SequentialLR */
export class SequentialLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof SequentialLROptions, true>> = {
    schedulers: true,
    milestones: true,
  };
  static override readonly listOptions: readonly string[] = ['schedulers', 'milestones'];
  static override readonly requiredOptions: readonly string[] = ['schedulers', 'milestones'];

  private readonly _schedulers: readonly LRScheduler[];
  private readonly _milestones: readonly number[];

  /** @throws invalid-argument unless there is one milestone between any two schedulers */
  constructor(optimizer: ScheduledOptimizer, options: SequentialLROptions) {
    super(optimizer, options);
    const { schedulers, milestones } = options;
    if (schedulers.length === 0 || milestones.length !== schedulers.length - 1) {
      throw new TesseraError(
        'invalid-argument',
        `SequentialLR got ${schedulers.length} schedulers and ${milestones.length} milestones.`,
        { hints: ['Give one milestone less than schedulers: the epochs where the next begins.'] },
      );
    }
    if (schedulers.some((scheduler) => scheduler.optimizer !== optimizer)) {
      throw new TesseraError(
        'invalid-argument',
        'SequentialLR expects all schedulers to belong to the same optimizer.',
        { hints: ['Make them with the optimizer that SequentialLR is given.'] },
      );
    }
    const odd = schedulers.find((scheduler): boolean => !(scheduler instanceof LRScheduler));
    if (odd !== undefined)
      throw new TesseraError(
        'invalid-argument',
        `SequentialLR does not support ${odd.constructor.name}, whose step takes a metric.`,
        { hints: ['Call its step(metric) apart from the sequence.'] },
      );
    this._schedulers = schedulers;
    this._milestones = milestones;
    // Each of them has set the rates by being made: the first begins again from the initial ones.
    for (const group of optimizer.paramGroups) group.lr = group.initialLr!;
    this.lastEpoch = 0;
    this.undo();
    const first = this.at(0);
    first.begin();
    this.noteRates(first.getLastLr());
  }

  /** The scheduler whose turn an epoch is. */
  private at(epoch: number): LRScheduler {
    return this._schedulers[this._milestones.filter((milestone) => milestone <= epoch).length]!;
  }

  override undo(): void {
    for (const scheduler of this._schedulers) scheduler.undo();
  }

  override step(): void {
    this.lastEpoch++;
    const scheduler = this.at(this.lastEpoch);
    if (this._milestones.includes(this.lastEpoch)) scheduler.restart();
    else scheduler.step();
    this.noteRates(scheduler.getLastLr());
  }

  override restart(): void {
    this.lastEpoch = 0;
    const first = this.at(0);
    first.restart();
    this.noteRates(first.getLastLr());
  }

  protected override rates(): number[] {
    return this.currentRates();
  }

  override stateDict(): SequentialLRState {
    return {
      ...super.stateDict(),
      schedulers: this._schedulers.map((scheduler) => scheduler.stateDict()),
    };
  }

  override loadStateDict(state: SequentialLRState | Readonly<Record<string, unknown>>): void {
    this.loadParts(state, this._schedulers);
  }
}
