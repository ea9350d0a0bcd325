/**
 * @file `OneCycleLR`: the rate climbs once and falls far below where it began, while the momentum does the
 * reverse.
 */
import { TesseraError } from '@tessera/shared';
import type { CommonOptions, ParamGroup } from '../optim/param-group.js';
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `OneCycleLR`. */
export interface OneCycleLROptions extends ScheduleOptions {
  /** The highest rate, of all groups or of each. */
  readonly maxLr: number | readonly number[];
  /** Steps of the whole cycle; or give `epochs` and `stepsPerEpoch`. */
  readonly totalSteps?: number;
  readonly epochs?: number;
  readonly stepsPerEpoch?: number;
  /** Share of the cycle in which the rate climbs (default 0.3). */
  readonly pctStart?: number;
  /** Shape of the way (default `cos`). */
  readonly annealStrategy?: 'cos' | 'linear';
  /** Whether momentum (or beta1) moves inversely (default true). */
  readonly cycleMomentum?: boolean;
  /** Lowest momentum (default 0.85). */
  readonly baseMomentum?: number;
  /** Highest momentum (default 0.95). */
  readonly maxMomentum?: number;
  /** The first rate is `maxLr / divFactor` (default 25). */
  readonly divFactor?: number;
  /** The last rate is the first divided by this (default 1e4). */
  readonly finalDivFactor?: number;
  /** Falls back to the first rate before it falls further (default false). */
  readonly threePhase?: boolean;
}

/** A group with either kind of momentum. */
type MomentumGroup = ParamGroup<CommonOptions> & {
  momentum?: number;
  betas?: readonly [number, number];
};

type Rates = readonly [first: number, highest: number, last: number];

/** Call `step()` after every batch. @see torch.optim.lr_scheduler.OneCycleLR @see Smith and Topin, https://arxiv.org/abs/1708.07120 */
export class OneCycleLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof OneCycleLROptions, true>> = {
    maxLr: true,
    totalSteps: true,
    epochs: true,
    stepsPerEpoch: true,
    pctStart: true,
    annealStrategy: true,
    cycleMomentum: true,
    baseMomentum: true,
    maxMomentum: true,
    divFactor: true,
    finalDivFactor: true,
    threePhase: true,
    lastEpoch: true,
  };
  static override readonly requiredOptions: readonly string[] = ['maxLr'];

  readonly totalSteps: number;
  private readonly _ends: readonly number[];
  private readonly _bounds: readonly Rates[];
  private readonly _momentum: readonly [number, number] | null;
  private readonly _anneal: (from: number, to: number, share: number) => number;

  /** @throws invalid-argument */
  constructor(optimizer: ScheduledOptimizer, options: OneCycleLROptions) {
    super(optimizer, options);
    const { pctStart = 0.3, threePhase = false, divFactor = 25, finalDivFactor = 1e4 } = options;
    this.totalSteps = options.totalSteps ?? (options.epochs ?? 0) * (options.stepsPerEpoch ?? 0);
    if (!Number.isInteger(this.totalSteps) || this.totalSteps <= 0)
      refuse(`totalSteps must be a positive whole number, not ${this.totalSteps}`);
    if (!(pctStart >= 0 && pctStart <= 1)) refuse(`pctStart must be in [0, 1], not ${pctStart}`);
    const peak = pctStart * this.totalSteps - 1;
    this._ends = threePhase
      ? [peak, 2 * pctStart * this.totalSteps - 2, this.totalSteps - 1]
      : [peak, this.totalSteps - 1];
    const { maxLr } = options;
    this._bounds = optimizer.paramGroups.map((group, i) => {
      const highest = typeof maxLr === 'number' ? maxLr : maxLr[i];
      if (highest === undefined)
        refuse(
          `maxLr has ${[maxLr].flat().length} rates for ${optimizer.paramGroups.length} groups`,
        );
      const first = highest / divFactor;
      group.initialLr = first;
      return [first, highest, first / finalDivFactor];
    });
    this.baseLrs = this._bounds.map(([first]) => first);
    this._momentum =
      (options.cycleMomentum ?? true)
        ? [options.baseMomentum ?? 0.85, options.maxMomentum ?? 0.95]
        : null;
    if (this._momentum !== null) this.checkMomentum();
    const { annealStrategy = 'cos' } = options;
    if (annealStrategy !== 'cos' && annealStrategy !== 'linear')
      refuse(`annealStrategy must be one of 'cos' or 'linear', not ${String(annealStrategy)}`);
    this._anneal =
      annealStrategy === 'linear'
        ? (from, to, share) => (to - from) * share + from
        : (from, to, share) => to + ((from - to) / 2) * (1 + Math.cos(Math.PI * share));
    this.begin();
  }

  private checkMomentum(): void {
    const groups: readonly MomentumGroup[] = this.optimizer.paramGroups;
    for (const group of groups)
      if (group.momentum === undefined && group.betas === undefined)
        refuse('the optimizer has no momentum to cycle; set cycleMomentum: false');
  }

  /** Value now on the way through the phases, whose corners are given. */
  private along(corners: readonly number[]): number {
    let start = 0;
    for (let i = 0; i < this._ends.length; i++) {
      const end = this._ends[i]!;
      if (this.lastEpoch <= end || i === this._ends.length - 1)
        return this._anneal(corners[i]!, corners[i + 1]!, (this.lastEpoch - start) / (end - start));
      start = end;
    }
    return corners.at(-1)!;
  }

  protected override rates(): number[] {
    if (this.lastEpoch > this.totalSteps)
      refuse(`step() was called ${this.lastEpoch} times; the cycle has ${this.totalSteps} steps`);
    const three = this._ends.length === 3;
    if (this._momentum !== null) {
      const [low, high] = this._momentum;
      const value = this.along(three ? [high, low, high, high] : [high, low, high]);
      const groups: readonly MomentumGroup[] = this.optimizer.paramGroups;
      for (const group of groups) {
        if (group.betas !== undefined) group.betas = [value, group.betas[1]];
        else group.momentum = value;
      }
    }
    return this._bounds.map(([first, highest, last]) =>
      this.along(three ? [first, highest, first, last] : [first, highest, last]),
    );
  }
}

function refuse(what: string): never {
  throw new TesseraError('invalid-argument', `OneCycleLR: ${what}.`, {
    hints: ['Give totalSteps, or epochs and stepsPerEpoch, and call step() once per batch.'],
  });
}
