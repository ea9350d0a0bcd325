/**
 * @file `CyclicLR`: the rate goes up and down between two bounds, the momentum the other way.
 */
import { TesseraError } from '@tessera/shared';
import type { CommonOptions, ParamGroup } from '../optim/param-group.js';
import { LRScheduler, type ScheduledOptimizer, type ScheduleOptions } from './lr-scheduler.js';

/** Options of `CyclicLR`. */
export interface CyclicLROptions extends ScheduleOptions {
  /** The lowest rate, of all groups or of each. */
  readonly baseLr: number | readonly number[];
  /** The highest rate of the first cycle. */
  readonly maxLr: number | readonly number[];
  /** Steps on the way up (default 2000). */
  readonly stepSizeUp?: number;
  /** Steps on the way down (default as up). */
  readonly stepSizeDown?: number;
  /**
   * How the height changes: `triangular` not at all, `triangular2` halves with every cycle, `exp_range` falls by
   * `gamma` with every step (default `triangular`).
   */
  readonly mode?: 'triangular' | 'triangular2' | 'exp_range';
  /** Factor of `exp_range` (default 1). */
  readonly gamma?: number;
  /** Height instead of `mode`, of the cycle (from 1) or of the step. */
  readonly scaleFn?: (x: number) => number;
  /** What `scaleFn` is given (default `cycle`). */
  readonly scaleMode?: 'cycle' | 'iterations';
  /** Whether momentum (or beta1) moves inversely (default true). */
  readonly cycleMomentum?: boolean;
  /** Lowest momentum (default 0.8). */
  readonly baseMomentum?: number | readonly number[];
  /** Highest momentum (default 0.9). */
  readonly maxMomentum?: number | readonly number[];
}

/** A group with either kind of momentum. */
type MomentumGroup = ParamGroup<CommonOptions> & {
  momentum?: number;
  betas?: readonly [number, number];
};

function refuse(what: string, hint: string): never {
  throw new TesseraError('invalid-argument', `CyclicLR: ${what}.`, { hints: [hint] });
}

/** Call `step()` after every batch. @see torch.optim.lr_scheduler.CyclicLR @see Smith, https://arxiv.org/abs/1506.01186 */
export class CyclicLR extends LRScheduler {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof CyclicLROptions, true>> = {
    baseLr: true,
    maxLr: true,
    stepSizeUp: true,
    stepSizeDown: true,
    mode: true,
    gamma: true,
    scaleFn: true,
    scaleMode: true,
    cycleMomentum: true,
    baseMomentum: true,
    maxMomentum: true,
    lastEpoch: true,
  };
  static override readonly requiredOptions: readonly string[] = ['baseLr', 'maxLr'];

  private readonly _maxLrs: readonly number[];
  private readonly _period: number;
  private readonly _up: number;
  private readonly _scale: (cycle: number, step: number) => number;
  private readonly _momentum: { readonly low: number[]; readonly high: number[] } | null;

  /** @throws invalid-argument */
  constructor(optimizer: ScheduledOptimizer, options: CyclicLROptions) {
    // What another scheduler began from stays.
    const isFirst = optimizer?.paramGroups?.map((group) => group.initialLr === undefined);
    super(optimizer, options);
    const { stepSizeUp = 2000, mode = 'triangular', gamma = 1, scaleFn } = options;
    const { baseMomentum = 0.8, maxMomentum = 0.9, cycleMomentum = true } = options;
    this.baseLrs = this.perGroup(options.baseLr, 'baseLr');
    this._maxLrs = this.perGroup(options.maxLr, 'maxLr');
    this._period = stepSizeUp + (options.stepSizeDown ?? stepSizeUp);
    this._up = stepSizeUp / this._period;
    if (!['triangular', 'triangular2', 'exp_range'].includes(mode) && scaleFn === undefined)
      refuse('mode is invalid and scaleFn is not given', 'See CyclicLROptions for the modes.');
    if (scaleFn !== undefined)
      this._scale = (cycle, step) => scaleFn(options.scaleMode === 'iterations' ? step : cycle);
    else if (mode === 'triangular2') this._scale = (cycle) => 1 / 2 ** (cycle - 1);
    else if (mode === 'exp_range') this._scale = (_cycle, step) => gamma ** step;
    else this._scale = () => 1;
    optimizer.paramGroups.forEach((group, i) => {
      if (isFirst[i]!) group.initialLr = this.baseLrs[i]!;
    });
    this._momentum = cycleMomentum
      ? {
          low: this.perGroup(baseMomentum, 'baseMomentum'),
          high: this.perGroup(maxMomentum, 'maxMomentum'),
        }
      : null;
    if (this._momentum !== null) this.checkMomentum();
    this.begin();
  }

  private checkMomentum(): void {
    const groups: readonly MomentumGroup[] = this.optimizer.paramGroups;
    for (const group of groups)
      if (group.momentum === undefined && group.betas === undefined)
        refuse('the optimizer has no momentum to cycle', 'Set cycleMomentum: false.');
  }

  private perGroup(value: number | readonly number[], name: string): number[] {
    const { length } = this.optimizer.paramGroups;
    const list = typeof value === 'number' ? Array.from({ length }, () => value) : [...value];
    if (list.length !== length)
      refuse(
        `expected ${length} values for ${name}, got ${list.length}`,
        'Give one for each group.',
      );
    return list;
  }

  protected override rates(): number[] {
    const turns = this.lastEpoch / this._period;
    const cycle = Math.floor(1 + turns);
    const x = 1 + turns - cycle;
    const height = x <= this._up ? x / this._up : (x - 1) / (this._up - 1);
    const scaled = height * this._scale(cycle, this.lastEpoch);
    const groups: readonly MomentumGroup[] = this.optimizer.paramGroups;
    groups.forEach((group, i) => {
      if (this._momentum === null) return;
      const [low, high] = [this._momentum.low[i]!, this._momentum.high[i]!];
      const value = high - (high - low) * scaled;
      if (group.betas !== undefined) group.betas = [value, group.betas[1]];
      else group.momentum = value;
    });
    return this.baseLrs.map((low, i) => low + (this._maxLrs[i]! - low) * scaled);
  }
}
