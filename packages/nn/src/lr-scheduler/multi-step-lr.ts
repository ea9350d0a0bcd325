/**
 * @file `MultiStepLR`: the rate falls by a factor at given epochs.
 */
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `MultiStepLR`. */
export interface MultiStepLROptions extends ScheduleOptions {
  /** Epochs of the drops; one that is listed twice drops twice. */
  readonly milestones: readonly number[];
  /** Factor of a drop (default 0.1). */
  readonly gamma?: number;
}

/** @see torch.optim.lr_scheduler.MultiStepLR */
export class MultiStepLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MultiStepLROptions, true>> = {
    milestones: true,
    gamma: true,
    lastEpoch: true,
  };
  static override readonly listOptions: readonly string[] = ['milestones'];
  static override readonly requiredOptions: readonly string[] = ['milestones'];

  readonly milestones: readonly number[];
  readonly gamma: number;

  constructor(optimizer: ScheduledOptimizer, options: MultiStepLROptions) {
    super(optimizer, options);
    this.milestones = [...options.milestones];
    this.gamma = options.gamma ?? 0.1;
    this.begin();
  }

  protected override rates(): number[] {
    const drops = this.milestones.filter((epoch) => epoch === this.lastEpoch).length;
    return this.currentRates().map((rate) => rate * this.gamma ** drops);
  }
}
