/**
 * @file `FractionalMaxPool2d` and `FractionalMaxPool3d`.
 */
import type { Tensor } from '@tessera/tensor';
import {
  type FractionalMaxPoolOptions,
  checkOutputSize,
  fractionalMaxPool2dWithIndices,
  fractionalMaxPool3dWithIndices,
} from '../functional/fractional-max-pool.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';
import type { Pooled } from './pooling.js';

/** Options of fractional pooling modules. */
export interface FractionalMaxPoolModuleOptions<
  R extends boolean = boolean,
> extends FractionalMaxPoolOptions {
  /** Whether indices are returned too (default false). */
  readonly returnIndices?: R;
}

/** What they have in common. */
abstract class FractionalMaxPool<R extends boolean> extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof FractionalMaxPoolModuleOptions, true>> = {
    outputSize: true,
    outputRatio: true,
    randomSamples: true,
    returnIndices: true,
  };

  readonly outputSize: number | readonly number[] | undefined;
  readonly outputRatio: number | readonly number[] | undefined;
  readonly returnIndices: boolean;
  declare _random_samples: Tensor | null;

  /** @throws invalid-argument unless either a size or ratios between 0 and 1 are given */
  constructor(
    readonly kernelSize: number | readonly number[],
    options: FractionalMaxPoolModuleOptions<R>,
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { kernelSize });
    checkOutputSize(new.target.name, options ?? {});
    this.outputSize = options.outputSize;
    this.outputRatio = options.outputRatio;
    this.returnIndices = options.returnIndices ?? false;
    this.registerBuffer('_random_samples', options.randomSamples ?? null);
  }

  /** Options of the function. */
  protected get options(): FractionalMaxPoolOptions {
    const { outputSize, outputRatio, _random_samples: randomSamples } = this;
    return { outputSize, outputRatio, randomSamples };
  }

  protected pooled(results: [Tensor, Tensor]): Pooled<R>;
  protected pooled([output, indices]: [Tensor, Tensor]): Pooled<boolean> {
    return this.returnIndices ? [output, indices] : output;
  }
}

/** Windows at random places of [N, C, H, W]. @see torch.nn.FractionalMaxPool2d */
export class FractionalMaxPool2d<R extends boolean = false> extends FractionalMaxPool<R> {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Pooled<R> {
    return this.pooled(fractionalMaxPool2dWithIndices(input, this.kernelSize, this.options));
  }
}

/** Windows at random places of [N, C, D, H, W]. @see torch.nn.FractionalMaxPool3d */
export class FractionalMaxPool3d<R extends boolean = false> extends FractionalMaxPool<R> {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Pooled<R> {
    return this.pooled(fractionalMaxPool3dWithIndices(input, this.kernelSize, this.options));
  }
}
