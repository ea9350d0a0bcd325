/**
 * @file `AveragedModel`: a copy of a module whose parameters are an average of those of a training.
 *
 * Modelled on `torch.optim.swa_utils`. The number of averaged models is counted on the host, so that an update
 * inside a compiled step reads nothing back, and kept as the buffer `n_averaged` for state dicts.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { itemAtOnce } from '@tessera/tensor/internal';
import {
  type DeviceType,
  type Tensor,
  isFloatingPoint,
  lerp,
  noGrad,
  tensor,
} from '@tessera/tensor';
import { cloneModule } from '../module/clone-module.js';
import { Module } from '../module/module.js';

/** The new average, from the average so far, a new value and the number of models averaged so far. */
export type AvgFn = (average: Tensor, value: Tensor, count: number) => Tensor;

/** Averages over equal weights: stochastic weight averaging. */
export function getSwaAvgFn(): AvgFn {
  return (average, value, count) => lerp(average, value, 1 / (count + 1));
}

/** An exponential moving average: `decay` is the weight of the average so far. */
export function getEmaAvgFn(decay = 0.999): AvgFn {
  return (average, value) => lerp(average, value, 1 - decay);
}

/**
 * Writes the new averages into all averages at once, from the values beside them and the number of models
 * averaged so far.
 */
export type MultiAvgFn = (
  averages: readonly Tensor[],
  values: readonly Tensor[],
  count: number,
) => void;

const forEachPair =
  (avgFn: AvgFn): MultiAvgFn =>
  (averages, values, count) =>
    averages.forEach((average, i) => average.copy_(avgFn(average, values[i]!, count)));

/** `getSwaAvgFn` for all parameters at once. */
export function getSwaMultiAvgFn(): MultiAvgFn {
  return forEachPair(getSwaAvgFn());
}

/** `getEmaAvgFn` for all parameters at once. */
export function getEmaMultiAvgFn(decay = 0.999): MultiAvgFn {
  return forEachPair(getEmaAvgFn(decay));
}

/** Options of `AveragedModel`. */
export interface AveragedModelOptions {
  /** How to average one tensor (default `getSwaAvgFn()`). */
  readonly avgFn?: AvgFn;
  /** How to average all tensors at once, in place of `avgFn`. */
  readonly multiAvgFn?: MultiAvgFn;
  /** Whether buffers are averaged too (default false: they are copied). */
  readonly useBuffers?: boolean;
  /** Where the average is kept (default where the module is). */
  readonly device?: DeviceType;
}

const AVERAGED_MODEL: OptionNames<AveragedModelOptions> = {
  device: true,
  avgFn: true,
  multiAvgFn: true,
  useBuffers: true,
};

/**
 * Holds averages of a module's parameters, and computes with them.
 *
 * @example
 * const average = new AveragedModel(model, { avgFn: getEmaAvgFn(0.99) });
 * // after every optimizer.step():
 * average.updateParameters(model);
 * @see torch.optim.swa_utils.AveragedModel
 */
export class AveragedModel<M extends Module = Module> extends Module {
  readonly module: M;
  declare n_averaged: Tensor;
  private readonly _average: MultiAvgFn;
  private readonly _useBuffers: boolean;
  /** What `n_averaged` holds; null after a state dict was loaded. */
  private _count: number | null = 0;

  /** @throws invalid-argument */
  constructor(model: M, options: AveragedModelOptions = {}) {
    super();
    checkOptionNames('AveragedModel', options, AVERAGED_MODEL);
    const { avgFn, multiAvgFn } = options;
    if (avgFn !== undefined && multiAvgFn !== undefined)
      throw new TesseraError(
        'invalid-argument',
        'Only one of avgFn and multiAvgFn should be provided',
        { hints: ['multiAvgFn gets all parameters in one call, avgFn one after the other.'] },
      );
    this.module = cloneModule(model);
    if (options.device !== undefined) this.module.to(options.device);
    this._average = multiAvgFn ?? forEachPair(avgFn ?? getSwaAvgFn());
    this._useBuffers = options.useBuffers ?? false;
    this.registerBuffer('n_averaged', tensor(0, { dtype: 'int64' }));
    this.registerLoadStateDictPostHook(() => (this._count = null));
  }

  override forward(...args: Parameters<M['forward']>): ReturnType<M['forward']> {
    return this.module.call(...args);
  }

  /** Takes the parameters of a module into the average: the first time as they are. */
  updateParameters(model: M): void {
    const count = (this._count ??= itemAtOnce(this.n_averaged));
    noGrad(() => {
      const averages: Tensor[] = [];
      const values: Tensor[] = [];
      const take = (own: readonly Tensor[], given: readonly Tensor[], average: boolean): void =>
        own.forEach((mine, i) => {
          const value = given[i]!.detach().to(mine.device);
          if (count === 0 || !average || !isFloatingPoint(mine.dtype)) mine.copy_(value);
          else {
            averages.push(mine);
            values.push(value);
          }
        });
      take(this.module.parameters(), model.parameters(), true);
      take(this.module.buffers(), model.buffers(), this._useBuffers);
      if (averages.length > 0) this._average(averages, values, count);
      this.n_averaged.add_(1);
    });
    this._count = count + 1;
  }
}
