/**
 * @file `FractionalMaxPool2d` and `FractionalMaxPool3d`.
 */
import type { Tensor } from '@tessera/tensor';
import {
  type FractionalMaxPoolOptions,
  fractionalMaxPool2dWithIndices,
  fractionalMaxPool3dWithIndices,
} from '../functional/fractional-max-pool.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions } from '../module/check-options.js';
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

  protected readonly _options: FractionalMaxPoolOptions;
  readonly returnIndices: boolean;

  constructor(
    readonly kernelSize: number | readonly number[],
    options: FractionalMaxPoolModuleOptions<R>,
  ) {
    super();
    checkOptions(new.target, options);
    const { returnIndices = false, ...rest } = options;
    this._options = rest;
    this.returnIndices = returnIndices;
  }

  protected pooled([output, indices]: [Tensor, Tensor]): Pooled<R> {
    return (this.returnIndices ? [output, indices] : output) as Pooled<R>;
  }

  override extraRepr(): string {
    return `kernel_size=${pythonLiteral(this.kernelSize)}`;
  }
}

/** Windows at random places of [N, C, H, W]. @see torch.nn.FractionalMaxPool2d */
export class FractionalMaxPool2d<R extends boolean = false> extends FractionalMaxPool<R> {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Pooled<R> {
    return this.pooled(fractionalMaxPool2dWithIndices(input, this.kernelSize, this._options));
  }
}

/** Windows at random places of [N, C, D, H, W]. @see torch.nn.FractionalMaxPool3d */
export class FractionalMaxPool3d<R extends boolean = false> extends FractionalMaxPool<R> {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Pooled<R> {
    return this.pooled(fractionalMaxPool3dWithIndices(input, this.kernelSize, this._options));
  }
}
