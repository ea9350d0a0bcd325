/**
 * @file `AveragedModel`: a copy of a module whose parameters are an average of those of a training.
 *
 * Modelled on `torch.optim.swa_utils`. The number of averaged models is counted on the host, so that an update
 * inside a compiled step reads nothing back, and kept as the buffer `n_averaged` for state dicts.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { itemAtOnce } from '@tessera/tensor/internal';
import { type DeviceType, type Tensor, lerp, noGrad, tensor } from '@tessera/tensor';
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

/** Options of `AveragedModel`. */
export interface AveragedModelOptions {
  /** How to average (default `getSwaAvgFn()`). */
  readonly avgFn?: AvgFn;
  /** Whether buffers are averaged too (default false: they are copied). */
  readonly useBuffers?: boolean;
  /** Where the average is kept (default where the module is). */
  readonly device?: DeviceType;
}

const AVERAGED_MODEL: OptionNames<AveragedModelOptions> = {
  device: true,
  avgFn: true,
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
  private readonly _avgFn: AvgFn;
  private readonly _useBuffers: boolean;
  /** What `n_averaged` holds; null after a state dict was loaded. */
  private _count: number | null = 0;

  /** @throws invalid-argument */
  constructor(model: M, options: AveragedModelOptions = {}) {
    super();
    checkOptionNames('AveragedModel', options, AVERAGED_MODEL);
    this.module = cloneModule(model);
    if (options.device !== undefined) this.module.to(options.device);
    this._avgFn = options.avgFn ?? getSwaAvgFn();
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
      const merge = (own: readonly Tensor[], given: readonly Tensor[], average: boolean): void =>
        own.forEach((mine, i) => {
          const value = given[i]!.detach().to(mine.device);
          const integral = !['float', 'bfloat'].some((kind) => mine.dtype.startsWith(kind));
          const first = count === 0 || !average || integral;
          mine.copy_(first ? value : this._avgFn(mine, value, count));
        });
      merge(this.module.parameters(), model.parameters(), true);
      merge(this.module.buffers(), model.buffers(), this._useBuffers);
      this.n_averaged.add_(1);
    });
    this._count = count + 1;
  }
}
