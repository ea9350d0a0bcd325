/**
 * @file `ReduceLROnPlateau`: the rate falls when a metric stops improving.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { trackClass } from '@tessera/tensor/internal';
import type { ScheduledOptimizer } from './lr-scheduler.js';
import { numberOr, readSchedulerState } from './read-scheduler-state.js';

/** Options of `ReduceLROnPlateau`. */
export interface ReduceLROnPlateauOptions {
  /** Whether a lower or a higher metric is better (default `min`). */
  readonly mode?: 'min' | 'max';
  /** Factor of a reduction (default 0.1). */
  readonly factor?: number;
  /** Epochs without improvement that are allowed (default 10). */
  readonly patience?: number;
  /** Smallest improvement that counts (default 1e-4). */
  readonly threshold?: number;
  /** Whether the threshold is relative to the best so far (default `rel`). */
  readonly thresholdMode?: 'rel' | 'abs';
  /** Epochs after a reduction before counting again (default 0). */
  readonly cooldown?: number;
  /** Lowest rate, of all groups or of each (default 0). */
  readonly minLr?: number | readonly number[];
  /** A reduction smaller than this is left out (default 1e-8). */
  readonly eps?: number;
}

/** Position of the schedule. */
export interface ReduceLROnPlateauState {
  readonly best: number;
  readonly numBadEpochs: number;
  readonly cooldownCounter: number;
  readonly lastEpoch: number;
}

const OPTIONS: OptionNames<ReduceLROnPlateauOptions> = {
  mode: true,
  factor: true,
  patience: true,
  threshold: true,
  thresholdMode: true,
  cooldown: true,
  minLr: true,
  eps: true,
};

function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', `ReduceLROnPlateau: ${message}`, { hints: [hint] });
}

/** Call `step(metric)` after every epoch. @see torch.optim.lr_scheduler.ReduceLROnPlateau */
export class ReduceLROnPlateau {
  private readonly options: Required<ReduceLROnPlateauOptions>;
  /** Best metric so far. */
  best: number;
  /** Epochs without improvement. */
  numBadEpochs = 0;
  cooldownCounter = 0;
  lastEpoch = 0;

  /** @throws invalid-argument */
  constructor(
    readonly optimizer: ScheduledOptimizer,
    options: ReduceLROnPlateauOptions = {},
  ) {
    checkOptionNames('ReduceLROnPlateau', options, OPTIONS);
    this.options = {
      mode: 'min',
      factor: 0.1,
      patience: 10,
      threshold: 1e-4,
      thresholdMode: 'rel',
      cooldown: 0,
      minLr: 0,
      eps: 1e-8,
      ...options,
    };
    const { factor, mode, thresholdMode, minLr } = this.options;
    if (!(factor < 1)) refuse('Factor should be < 1.0.', 'The rate is multiplied by it.');
    if (mode !== 'min' && mode !== 'max')
      refuse(`mode ${String(mode)} is unknown!`, "It is 'min' or 'max'.");
    if (thresholdMode !== 'rel' && thresholdMode !== 'abs')
      refuse(`threshold mode ${String(thresholdMode)} is unknown!`, "It is 'rel' or 'abs'.");
    if (!Array.isArray(optimizer?.paramGroups))
      refuse(`It schedules an optimizer, not ${String(optimizer)}.`, 'Pass the optimizer first.');
    const groups = optimizer.paramGroups.length;
    if (typeof minLr !== 'number' && minLr.length !== groups)
      refuse(`expected ${groups} rates in minLr, got ${minLr.length}`, 'Give one for each group.');
    this.best = mode === 'min' ? Infinity : -Infinity;
  }

  private isBetter(metric: number): boolean {
    const { mode, threshold, thresholdMode } = this.options;
    const sign = mode === 'min' ? -1 : 1;
    const bar =
      thresholdMode === 'rel' ? this.best * (1 + sign * threshold) : this.best + sign * threshold;
    return mode === 'min' ? metric < bar : metric > bar;
  }

  /** Takes the metric of an epoch. @throws invalid-argument for what is no number */
  step(metric: number): void {
    if (typeof metric !== 'number')
      refuse('step() takes the metric of an epoch, a number', 'Write step(loss.item()).');
    this.lastEpoch++;
    if (this.isBetter(metric)) {
      this.best = metric;
      this.numBadEpochs = 0;
    } else this.numBadEpochs++;
    if (this.cooldownCounter > 0) {
      this.cooldownCounter--;
      this.numBadEpochs = 0;
    }
    if (this.numBadEpochs > this.options.patience) {
      this.reduce();
      this.cooldownCounter = this.options.cooldown;
      this.numBadEpochs = 0;
    }
  }

  private reduce(): void {
    const { factor, minLr, eps } = this.options;
    this.optimizer.paramGroups.forEach((group, i) => {
      const least = typeof minLr === 'number' ? minLr : minLr[i]!;
      const rate = Math.max(group.lr * factor, least);
      if (group.lr - rate > eps) group.lr = rate;
    });
  }

  /** Learning rates of the groups. */
  getLastLr(): number[] {
    return this.optimizer.paramGroups.map((group) => group.lr);
  }

  /** Position of the schedule. */
  stateDict(): ReduceLROnPlateauState {
    const { best, numBadEpochs, cooldownCounter, lastEpoch } = this;
    return { best, numBadEpochs, cooldownCounter, lastEpoch };
  }

  /** Continues from a saved position, as `LRScheduler.loadStateDict`. @throws state-dict-mismatch */
  loadStateDict(state: ReduceLROnPlateauState | Readonly<Record<string, unknown>>): void {
    const read = readSchedulerState(state, this.constructor.name);
    this.best = numberOr(read.get('best'), this.best);
    this.numBadEpochs = numberOr(read.get('numBadEpochs'), this.numBadEpochs);
    this.cooldownCounter = numberOr(read.get('cooldownCounter'), this.cooldownCounter);
    this.lastEpoch = numberOr(read.get('lastEpoch'), this.lastEpoch);
  }
}

trackClass(ReduceLROnPlateau);
