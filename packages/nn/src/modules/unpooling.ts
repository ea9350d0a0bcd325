/**
 * @file `MaxUnpool1d`, `MaxUnpool2d` and `MaxUnpool3d`.
 */
import type { Tensor } from '@tessera/tensor';
import { maxUnpool1d, maxUnpool2d, maxUnpool3d } from '../functional/max-unpool.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Options of unpooling modules. */
export interface MaxUnpoolModuleOptions {
  /** Step of the window (default: its size). */
  readonly stride?: number | readonly number[];
  /** Border of the pooled input (default 0). */
  readonly padding?: number | readonly number[];
}

/** What they have in common. */
abstract class MaxUnpool extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof MaxUnpoolModuleOptions, true>> = {
    stride: true,
    padding: true,
  };

  readonly stride: number | readonly number[];
  readonly padding: number | readonly number[];

  constructor(
    readonly kernelSize: number | readonly number[],
    options: MaxUnpoolModuleOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { kernelSize });
    this.stride = options.stride ?? kernelSize;
    this.padding = options.padding ?? 0;
  }

  override extraRepr(): string {
    return `kernel_size=${pythonLiteral(this.kernelSize)}, stride=${pythonLiteral(this.stride)}, padding=${pythonLiteral(this.padding)}`;
  }
}

/** Undoes `MaxPool1d` with `returnIndices`. @see torch.nn.MaxUnpool1d */
export class MaxUnpool1d extends MaxUnpool {
  /** @throws shape-mismatch */
  override forward(
    input: Tensor,
    indices: Tensor,
    outputSize: readonly number[] | null = null,
  ): Tensor {
    const { kernelSize, stride, padding } = this;
    return maxUnpool1d(input, indices, kernelSize, { stride, padding, outputSize });
  }
}

/** Undoes `MaxPool2d` with `returnIndices`. @see torch.nn.MaxUnpool2d */
export class MaxUnpool2d extends MaxUnpool {
  /** @throws shape-mismatch */
  override forward(
    input: Tensor,
    indices: Tensor,
    outputSize: readonly number[] | null = null,
  ): Tensor {
    const { kernelSize, stride, padding } = this;
    return maxUnpool2d(input, indices, kernelSize, { stride, padding, outputSize });
  }
}

/** Undoes `MaxPool3d` with `returnIndices`. @see torch.nn.MaxUnpool3d */
export class MaxUnpool3d extends MaxUnpool {
  /** @throws shape-mismatch */
  override forward(
    input: Tensor,
    indices: Tensor,
    outputSize: readonly number[] | null = null,
  ): Tensor {
    const { kernelSize, stride, padding } = this;
    return maxUnpool3d(input, indices, kernelSize, { stride, padding, outputSize });
  }
}
