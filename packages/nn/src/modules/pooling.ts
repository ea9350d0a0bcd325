/**
 * @file `MaxPool2d`, `AvgPool2d` and `AdaptiveAvgPool2d`.
 */
import { type Tensor, avgPool2d, maxPool2d } from '@tessera/tensor';
import { adaptiveAvgPool2d } from '../functional/adaptive-pool.js';
import { pythonLiteral } from '../module/module-repr.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';

/** Options of `MaxPool2d`; a number stands for both spatial dimensions. */
export interface MaxPool2dOptions {
  /** Step of the window (default: its size). */
  readonly stride?: number | readonly number[];
  /** Border that never wins (default 0). */
  readonly padding?: number | readonly number[];
  /** Distance of the window's elements (default 1). */
  readonly dilation?: number | readonly number[];
  /** Whether windows may hang over the end (default false). */
  readonly ceilMode?: boolean;
}

/** Largest element of each window. @see torch.nn.MaxPool2d */
export class MaxPool2d extends Module {
  readonly stride: number | readonly number[];
  readonly padding: number | readonly number[];
  readonly dilation: number | readonly number[];
  readonly ceilMode: boolean;

  constructor(
    readonly kernelSize: number | readonly number[],
    options: MaxPool2dOptions = {},
  ) {
    super();
    this.stride = options.stride ?? kernelSize;
    this.padding = options.padding ?? 0;
    this.dilation = options.dilation ?? 1;
    this.ceilMode = options.ceilMode ?? false;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return maxPool2d(input, this.kernelSize, {
      stride: this.stride,
      padding: this.padding,
      dilation: this.dilation,
      ceilMode: this.ceilMode,
    });
  }

  override extraRepr(): string {
    return `kernel_size=${pythonLiteral(this.kernelSize)}, stride=${pythonLiteral(this.stride)}, padding=${pythonLiteral(this.padding)}, dilation=${pythonLiteral(this.dilation)}, ceil_mode=${pythonLiteral(this.ceilMode)}`;
  }
}

/** Options of `AvgPool2d`; a number stands for both spatial dimensions. */
export interface AvgPool2dOptions {
  /** Step of the window (default: its size). */
  readonly stride?: number | readonly number[];
  /** Zeros around the input (default 0). */
  readonly padding?: number | readonly number[];
  /** Whether windows may hang over the end (default false). */
  readonly ceilMode?: boolean;
  /** Whether the border counts in the mean (default true). */
  readonly countIncludePad?: boolean;
  /** Divides by this instead of the window's size. */
  readonly divisorOverride?: number | null;
}

/** Mean of each window. @see torch.nn.AvgPool2d */
export class AvgPool2d extends Module {
  readonly stride: number | readonly number[];
  readonly padding: number | readonly number[];
  readonly ceilMode: boolean;
  readonly countIncludePad: boolean;
  readonly divisorOverride: number | null;

  constructor(
    readonly kernelSize: number | readonly number[],
    options: AvgPool2dOptions = {},
  ) {
    super();
    this.stride = options.stride ?? kernelSize;
    this.padding = options.padding ?? 0;
    this.ceilMode = options.ceilMode ?? false;
    this.countIncludePad = options.countIncludePad ?? true;
    this.divisorOverride = options.divisorOverride ?? null;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    const { stride, padding, ceilMode, countIncludePad, divisorOverride } = this;
    return avgPool2d(input, this.kernelSize, {
      stride,
      padding,
      ceilMode,
      countIncludePad,
      divisorOverride,
    });
  }

  override extraRepr(): string {
    return `kernel_size=${pythonLiteral(this.kernelSize)}, stride=${pythonLiteral(this.stride)}, padding=${pythonLiteral(this.padding)}`;
  }
}

/** Means of a grid of parts, whatever the input's size. @see torch.nn.AdaptiveAvgPool2d */
export class AdaptiveAvgPool2d extends Module {
  /** @param outputSize parts per spatial dimension; null keeps a size */
  constructor(readonly outputSize: number | readonly [number | null, number | null]) {
    super();
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return adaptiveAvgPool2d(input, this.outputSize);
  }

  override extraRepr(): string {
    return `output_size=${pythonLiteral(this.outputSize)}`;
  }
}

for (const pool of [MaxPool2d, AvgPool2d, AdaptiveAvgPool2d]) trustForward(pool);
