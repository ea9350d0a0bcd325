/**
 * @file `LRScheduler`: the base of learning-rate schedules.
 *
 * A scheduler writes `lr` of an optimizer's groups. Optimizers pass the learning rate to compiled code
 * as a run-time number, so a schedule never causes a recompilation. Formulas are PyTorch's chainable
 * ones, which continue from the current rate. Modelled on `torch.optim.lr_scheduler`.
 */
import { TesseraError } from '@tessera/shared';
import { trackClass } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import type { CommonOptions, ParamGroup } from '../optim/param-group.js';
import { numberOr, numbersOr, readSchedulerState } from './read-scheduler-state.js';

/** What a scheduler needs of an optimizer. */
export interface ScheduledOptimizer {
  readonly paramGroups: readonly ParamGroup<CommonOptions>[];
}

/** An option that most schedulers have. */
export interface ScheduleOptions {
  /**
   * The epoch that training goes on after, where it is resumed without a state dict of the scheduler: the optimizer's,
   * loaded before, has the rates (default -1: from the beginning).
   */
  readonly lastEpoch?: number;
}

/** State of a scheduler. */
export interface LRSchedulerState {
  readonly lastEpoch: number;
  readonly baseLrs: readonly number[];
  readonly lastLr: readonly number[];
}

/** See the file header. */
export abstract class LRScheduler {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<string, true>> = {};
  /** Names of those that have no default. */
  static readonly requiredOptions: readonly string[] = [];
  /** Names of those that are lists. */
  static readonly listOptions: readonly string[] = [];

  /** Number of `step()` calls so far. */
  lastEpoch: number;
  /** Learning rates of the groups before any schedule. */
  baseLrs: number[];
  /** Whether this is the first step, which begins from the current rates. */
  protected isInitial = false;
  private _lastLr: number[] = [];

  /** @throws invalid-argument */
  constructor(
    readonly optimizer: ScheduledOptimizer,
    options: object = {},
  ) {
    if (!Array.isArray(optimizer?.paramGroups)) {
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name} schedules an optimizer, not ${String(optimizer)}.`,
        { hints: ['Pass the optimizer first, the options second.'] },
      );
    }
    checkOptions(new.target, options);
    const given: Readonly<Record<string, unknown>> & ScheduleOptions = { ...options };
    const missing = new.target.requiredOptions.find((name) => given[name] == null);
    if (missing !== undefined)
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name}: missing 1 required option: '${missing}'`,
        { hints: [`Its options are: ${Object.keys(new.target.optionNames).join(', ')}.`] },
      );
    const odd = new.target.listOptions.find((name) => !Array.isArray(given[name]));
    if (odd !== undefined)
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name}: ${odd} must be a list, not ${String(given[odd])}`,
        { hints: [`Write { ${odd}: [ … ] }.`] },
      );
    this.lastEpoch = given.lastEpoch ?? -1;
    optimizer.paramGroups.forEach((group, i) => {
      if (this.lastEpoch !== -1 && group.initialLr === undefined) refuseToResume(i);
      group.initialLr ??= group.lr;
    });
    this.baseLrs = optimizer.paramGroups.map((group) => group.initialLr!);
  }

  /** Learning rates of the groups at `lastEpoch`. */
  protected abstract rates(): number[];

  /** Moves to the next epoch and sets the learning rates. @throws invalid-argument if one is no number */
  step(): void {
    this.lastEpoch++;
    const rates = this.rates();
    if (rates.some(Number.isNaN))
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name}: the learning rate of epoch ${this.lastEpoch} is 0 / 0.`,
        { hints: ['A number of epochs or a factor among the options may not be 0.'] },
      );
    this._lastLr = rates;
    this.optimizer.paramGroups.forEach((group, i) => (group.lr = this._lastLr[i]!));
  }

  /** The first step: the constructor's, and again where a scheduler is made of others. */
  begin(): void {
    this.isInitial = true;
    this.step();
    this.isInitial = false;
  }

  /** Takes back the step of the constructor, but for its rates; for schedulers made of others. */
  undo(): void {
    this.lastEpoch--;
  }

  /** Begins at epoch 0 from its own initial rates, where the turn of a scheduler comes. */
  restart(): void {
    this.optimizer.paramGroups.forEach((group, i) => (group.lr = this.baseLrs[i]!));
    this.lastEpoch = -1;
    this.begin();
  }

  /** Sets what `getLastLr()` returns, for schedulers that leave the rates to others. */
  protected noteRates(rates: readonly number[]): void {
    this._lastLr = [...rates];
  }

  /** Learning rates that the last `step()` set. */
  getLastLr(): number[] {
    return [...this._lastLr];
  }

  /** Position of the schedule. */
  stateDict(): LRSchedulerState {
    return { lastEpoch: this.lastEpoch, baseLrs: [...this.baseLrs], lastLr: this.getLastLr() };
  }

  /**
   * Continues from a saved position; the optimizer's rates come from its own state dict. PyTorch's state dicts are read
   * too, also as `loadTorchCheckpoint` gives them to `onValues`; options stay those of the constructor.
   *
   * @throws state-dict-mismatch
   */
  loadStateDict(state: LRSchedulerState | Readonly<Record<string, unknown>>): void {
    const read = readSchedulerState(state, this.constructor.name);
    const groups = this.optimizer.paramGroups.length;
    const baseLrs = numbersOr(read.get('baseLrs'), this.baseLrs, groups);
    this._lastLr = numbersOr(read.get('lastLr'), this._lastLr, groups);
    this.baseLrs = baseLrs;
    this.lastEpoch = numberOr(read.get('lastEpoch'), this.lastEpoch);
  }

  /** The same for a schedule that is made of others. */
  protected loadParts(
    state: LRSchedulerState | Readonly<Record<string, unknown>>,
    parts: readonly LRScheduler[],
  ): void {
    const saved = readSchedulerState(state, this.constructor.name).get('schedulers');
    if (!Array.isArray(saved) || saved.length !== parts.length)
      throw new TesseraError(
        'state-dict-mismatch',
        `This is no state dict of a ${this.constructor.name} of ${parts.length} schedulers.`,
        { hints: ['Make it of the schedulers that it had.'] },
      );
    LRScheduler.prototype.loadStateDict.call(this, state);
    parts.forEach((part, i) => part.loadStateDict(saved[i] as Readonly<Record<string, unknown>>));
  }

  /** Current learning rates of the groups. */
  protected currentRates(): number[] {
    return this.optimizer.paramGroups.map((group) => group.lr);
  }
}

function refuseToResume(group: number): never {
  throw new TesseraError(
    'invalid-argument',
    `param 'initialLr' is not specified in paramGroups[${group}] when resuming scheduler with lastEpoch >= 0.`,
    {
      hints: [
        "Load the optimizer's state dict before the scheduler is made; for a fresh training run leave lastEpoch out.",
      ],
    },
  );
}

trackClass(LRScheduler);
