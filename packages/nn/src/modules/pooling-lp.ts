/**
 * @file Power-average pooling as modules.
 */
import type { Tensor } from '@tessera/tensor';
import { type LpPoolOptions, lpPool1d, lpPool2d, lpPool3d } from '../functional/lp-pool.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** What they have in common. */
abstract class LPPool extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof LpPoolOptions, true>> = {
    stride: true,
    ceilMode: true,
  };

  readonly stride: number | readonly number[] | null;
  readonly ceilMode: boolean;

  constructor(
    readonly normType: number,
    readonly kernelSize: number | readonly number[],
    options: LpPoolOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { normType, kernelSize });
    this.stride = options.stride ?? null;
    this.ceilMode = options.ceilMode ?? false;
  }

  protected get options(): Required<LpPoolOptions> {
    return { stride: this.stride, ceilMode: this.ceilMode };
  }

  override extraRepr(): string {
    return `norm_type=${pythonLiteral(this.normType)}, kernel_size=${pythonLiteral(this.kernelSize)}, stride=${pythonLiteral(this.stride)}, ceil_mode=${pythonLiteral(this.ceilMode)}`;
  }
}

/** (Σ xᵖ)^{1/p} of windows of [N, C, L]. @see torch.nn.LPPool1d */
export class LPPool1d extends LPPool {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return lpPool1d(input, this.normType, this.kernelSize, this.options);
  }
}

/** (Σ xᵖ)^{1/p} of windows of [N, C, H, W]. @see torch.nn.LPPool2d */
export class LPPool2d extends LPPool {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return lpPool2d(input, this.normType, this.kernelSize, this.options);
  }
}

/** (Σ xᵖ)^{1/p} of windows of [N, C, D, H, W]. @see torch.nn.LPPool3d */
export class LPPool3d extends LPPool {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return lpPool3d(input, this.normType, this.kernelSize, this.options);
  }
}
