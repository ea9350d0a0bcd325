/**
 * @file Adaptive average pooling as modules: a grid of parts, whatever the input's size.
 */
import type { Tensor } from '@tessera/tensor';
import {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
} from '../functional/adaptive-pool.js';
import { pythonLiteral } from '../module/module-repr.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';

/** Parts per spatial dimension: one number for all, or one each where null keeps a size. */
export type AdaptiveSize = number | readonly (number | null)[];

/** What they have in common. */
abstract class AdaptivePool extends Module {
  constructor(readonly outputSize: AdaptiveSize) {
    super();
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

for (const pool of [AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d]) trustForward(pool);
