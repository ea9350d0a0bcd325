/**
 * @file Adaptive pooling as modules: a grid of parts, whatever the input's size.
 */
import type { Tensor } from '@tessera/tensor';
import {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool1dWithIndices,
  adaptiveMaxPool2dWithIndices,
  adaptiveMaxPool3dWithIndices,
} from '../functional/adaptive-pool.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';
import type { Pooled } from './pooling.js';

/** Parts per spatial dimension: one number for all, or one each where null keeps a size. */
export type AdaptiveSize = number | readonly (number | null)[];

/** What they have in common. */
abstract class AdaptivePool extends Module {
  constructor(readonly outputSize: AdaptiveSize) {
    super();
    checkSizes(new.target, { outputSize }, arguments);
  }

  override extraRepr(): string {
    return `output_size=${pythonLiteral(this.outputSize)}`;
  }
}

/** Means of parts of [N, C, L]. @see torch.nn.AdaptiveAvgPool1d */
export class AdaptiveAvgPool1d extends AdaptivePool {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return adaptiveAvgPool1d(input, this.outputSize);
  }
}

/** Means of parts of [N, C, H, W]. @see torch.nn.AdaptiveAvgPool2d */
export class AdaptiveAvgPool2d extends AdaptivePool {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return adaptiveAvgPool2d(input, this.outputSize);
  }
}

/** Means of parts of [N, C, D, H, W]. @see torch.nn.AdaptiveAvgPool3d */
export class AdaptiveAvgPool3d extends AdaptivePool {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return adaptiveAvgPool3d(input, this.outputSize);
  }
}

/** Options of adaptive max pooling. */
export interface AdaptiveMaxPoolOptions<R extends boolean = boolean> {
  /** Whether indices are returned too (default false). */
  readonly returnIndices?: R;
}

/** What the ones of largest elements have in common. */
abstract class AdaptiveMaxPool<R extends boolean> extends AdaptivePool {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof AdaptiveMaxPoolOptions, true>> = {
    returnIndices: true,
  };

  readonly returnIndices: boolean;

  constructor(outputSize: AdaptiveSize, options: AdaptiveMaxPoolOptions<R> = {}) {
    checkOptions(new.target, options);
    super(outputSize);
    this.returnIndices = options.returnIndices ?? false;
  }

  protected wanted(results: [output: Tensor, indices: Tensor]): Pooled<R>;
  protected wanted(results: [output: Tensor, indices: Tensor]): Pooled<boolean> {
    return this.returnIndices ? results : results[0];
  }
}

/** Largest elements of parts of [N, C, L]. @see torch.nn.AdaptiveMaxPool1d */
export class AdaptiveMaxPool1d<R extends boolean = false> extends AdaptiveMaxPool<R> {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Pooled<R> {
    return this.wanted(adaptiveMaxPool1dWithIndices(input, this.outputSize));
  }
}

/** Largest elements of parts of [N, C, H, W]. @see torch.nn.AdaptiveMaxPool2d */
export class AdaptiveMaxPool2d<R extends boolean = false> extends AdaptiveMaxPool<R> {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Pooled<R> {
    return this.wanted(adaptiveMaxPool2dWithIndices(input, this.outputSize));
  }
}

/** Largest elements of parts of [N, C, D, H, W]. @see torch.nn.AdaptiveMaxPool3d */
export class AdaptiveMaxPool3d<R extends boolean = false> extends AdaptiveMaxPool<R> {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Pooled<R> {
    return this.wanted(adaptiveMaxPool3dWithIndices(input, this.outputSize));
  }
}
