/**
 * @file Max pooling as modules.
 *
 * With `returnIndices` a module gives the result and where each element came from.
 */
import { type Tensor } from '@tessera/tensor';
import {
  maxPool1d,
  maxPool1dWithIndices,
  maxPool2d,
  maxPool2dWithIndices,
  maxPool3d,
  maxPool3dWithIndices,
} from '@tessera/tensor/internal';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Options of max pooling; a number stands for every spatial dimension. */
export interface MaxPoolModuleOptions<R extends boolean = boolean> {
  /** Step of the window (default: its size). */
  readonly stride?: number | readonly number[];
  /** Border that never wins (default 0). */
  readonly padding?: number | readonly number[];
  /** Distance of the window's elements (default 1). */
  readonly dilation?: number | readonly number[];
  /** Whether windows may hang over the end (default false). */
  readonly ceilMode?: boolean;
  /** Whether indices are returned too (default false). */
  readonly returnIndices?: R;
}

/** The pooled tensor, with the indices if they are wanted. */
export type Pooled<R extends boolean> = R extends true ? [output: Tensor, indices: Tensor] : Tensor;

/** What they have in common. */
abstract class MaxPool<R extends boolean> extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof MaxPoolModuleOptions, true>> = {
    stride: true,
    padding: true,
    dilation: true,
    ceilMode: true,
    returnIndices: true,
  };

  readonly stride: number | readonly number[];
  readonly padding: number | readonly number[];
  readonly dilation: number | readonly number[];
  readonly ceilMode: boolean;
  readonly returnIndices: boolean;

  constructor(
    readonly kernelSize: number | readonly number[],
    options: MaxPoolModuleOptions<R> = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { kernelSize });
    this.stride = options.stride ?? kernelSize;
    this.padding = options.padding ?? 0;
    this.dilation = options.dilation ?? 1;
    this.ceilMode = options.ceilMode ?? false;
    this.returnIndices = options.returnIndices ?? false;
  }

  protected get options(): {
    stride: number | readonly number[];
    padding: number | readonly number[];
    dilation: number | readonly number[];
    ceilMode: boolean;
  } {
    const { stride, padding, dilation, ceilMode } = this;
    return { stride, padding, dilation, ceilMode };
  }

  override extraRepr(): string {
    return `kernel_size=${pythonLiteral(this.kernelSize)}, stride=${pythonLiteral(this.stride)}, padding=${pythonLiteral(this.padding)}, dilation=${pythonLiteral(this.dilation)}, ceil_mode=${pythonLiteral(this.ceilMode)}`;
  }
}

/** Largest element of each window of [N, C, L]. @see torch.nn.MaxPool1d */
export class MaxPool1d<R extends boolean = false> extends MaxPool<R> {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Pooled<R>;
  override forward(input: Tensor): Pooled<boolean> {
    const pool = this.returnIndices ? maxPool1dWithIndices : maxPool1d;
    return pool(input, this.kernelSize, this.options);
  }
}

/** Largest element of each window of [N, C, H, W]. @see torch.nn.MaxPool2d */
export class MaxPool2d<R extends boolean = false> extends MaxPool<R> {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Pooled<R>;
  override forward(input: Tensor): Pooled<boolean> {
    const pool = this.returnIndices ? maxPool2dWithIndices : maxPool2d;
    return pool(input, this.kernelSize, this.options);
  }
}

/** Largest element of each window of [N, C, D, H, W]. @see torch.nn.MaxPool3d */
export class MaxPool3d<R extends boolean = false> extends MaxPool<R> {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Pooled<R>;
  override forward(input: Tensor): Pooled<boolean> {
    const pool = this.returnIndices ? maxPool3dWithIndices : maxPool3d;
    return pool(input, this.kernelSize, this.options);
  }
}
