/**
 * @file Average pooling as modules.
 */
import { type Tensor } from '@tessera/tensor';
import { avgPool1d, avgPool2d, avgPool3d } from '@tessera/tensor/internal';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Options of average pooling; a number stands for every spatial dimension. */
export interface AvgPoolModuleOptions {
  /** Step of the window (default: its size). */
  readonly stride?: number | readonly number[];
  /** Zeros around the input (default 0). */
  readonly padding?: number | readonly number[];
  /** Whether windows may hang over the end (default false). */
  readonly ceilMode?: boolean;
  /** Whether the border counts in the mean (default true). */
  readonly countIncludePad?: boolean;
  /** Divides by this instead of the window's size; in two and three dimensions. */
  readonly divisorOverride?: number | null;
}

/** What they have in common. */
abstract class AvgPool extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof AvgPoolModuleOptions, true>> = {
    stride: true,
    padding: true,
    ceilMode: true,
    countIncludePad: true,
    divisorOverride: true,
  };

  readonly stride: number | readonly number[];
  readonly padding: number | readonly number[];
  readonly ceilMode: boolean;
  readonly countIncludePad: boolean;
  readonly divisorOverride: number | null;

  constructor(
    readonly kernelSize: number | readonly number[],
    options: AvgPoolModuleOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { kernelSize });
    this.stride = options.stride ?? kernelSize;
    this.padding = options.padding ?? 0;
    this.ceilMode = options.ceilMode ?? false;
    this.countIncludePad = options.countIncludePad ?? true;
    this.divisorOverride = options.divisorOverride ?? null;
  }

  protected get options(): Required<AvgPoolModuleOptions> {
    const { stride, padding, ceilMode, countIncludePad, divisorOverride } = this;
    return { stride, padding, ceilMode, countIncludePad, divisorOverride };
  }

  override extraRepr(): string {
    return `kernel_size=${pythonLiteral(this.kernelSize)}, stride=${pythonLiteral(this.stride)}, padding=${pythonLiteral(this.padding)}`;
  }
}

/** Mean of each window of [N, C, L]. @see torch.nn.AvgPool1d */
export class AvgPool1d extends AvgPool {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Tensor {
    const { divisorOverride: _, ...options } = this.options;
    return avgPool1d(input, this.kernelSize, options);
  }

  override extraRepr(): string {
    const inParentheses = (value: number | readonly number[]): string =>
      pythonLiteral(typeof value === 'number' ? [value] : value);
    return `kernel_size=${inParentheses(this.kernelSize)}, stride=${inParentheses(this.stride)}, padding=${inParentheses(this.padding)}`;
  }
}

/** Mean of each window of [N, C, H, W]. @see torch.nn.AvgPool2d */
export class AvgPool2d extends AvgPool {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Tensor {
    return avgPool2d(input, this.kernelSize, this.options);
  }
}

/** Mean of each window of [N, C, D, H, W]. @see torch.nn.AvgPool3d */
export class AvgPool3d extends AvgPool {
  /** @throws shape-mismatch, invalid-argument */
  override forward(input: Tensor): Tensor {
    return avgPool3d(input, this.kernelSize, this.options);
  }
}
