/**
 * @file `LayerNorm`, `RMSNorm` and `GroupNorm`: normalisation within a sample.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, empty } from '@tessera/tensor';
import { groupNorm, layerNorm, rmsNorm } from '@tessera/tensor/internal';
import { ones_, zeros_ } from '../init/fill.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';

/** Options of `LayerNorm`. */
export interface LayerNormModuleOptions extends FactoryOptions {
  /** Added to the variance (default 1e-5). */
  readonly eps?: number;
  /** Whether there is a weight (default true). */
  readonly elementwiseAffine?: boolean;
  /** Whether there is a bias beside the weight (default true). */
  readonly bias?: boolean;
}

function shapeList(shape: number | readonly number[]): readonly number[] {
  return typeof shape === 'number' ? [shape] : [...shape];
}

/** Mean 0 and variance 1 over the last dimensions. @see torch.nn.LayerNorm @see https://arxiv.org/abs/1607.06450 */
export class LayerNorm extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof LayerNormModuleOptions, true>> = {
    eps: true,
    elementwiseAffine: true,
    bias: true,
    device: true,
    dtype: true,
  };

  /** Sizes of the dimensions that are normalised. */
  readonly normalizedShape: readonly number[];
  readonly eps: number;
  readonly elementwiseAffine: boolean;
  weight: Parameter | null;
  bias: Parameter | null;

  constructor(normalizedShape: number | readonly number[], options: LayerNormModuleOptions = {}) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { normalizedShape });
    const { eps = 1e-5, elementwiseAffine = true, bias = true, ...factory } = options;
    this.normalizedShape = shapeList(normalizedShape);
    this.eps = eps;
    this.elementwiseAffine = elementwiseAffine;
    this.weight = elementwiseAffine ? new Parameter(empty(this.normalizedShape, factory)) : null;
    this.bias =
      elementwiseAffine && bias ? new Parameter(empty(this.normalizedShape, factory)) : null;
    this.resetParameters();
  }

  /** Weight 1, bias 0. */
  resetParameters(): void {
    if (this.weight !== null) ones_(this.weight);
    if (this.bias !== null) zeros_(this.bias);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return layerNorm(input, this.normalizedShape, {
      weight: this.weight,
      bias: this.bias,
      eps: this.eps,
    });
  }

  override extraRepr(): string {
    return `${pythonLiteral(this.normalizedShape)}, eps=${pythonLiteral(this.eps)}, elementwise_affine=${pythonLiteral(this.elementwiseAffine)}, bias=${pythonLiteral(this.bias !== null)}`;
  }
}

/** Options of `RMSNorm`. */
export interface RMSNormOptions extends FactoryOptions {
  /** Added to the mean square; null (default) takes the dtype's epsilon. */
  readonly eps?: number | null;
  /** Whether there is a weight (default true). */
  readonly elementwiseAffine?: boolean;
}

/** Root mean square 1 over the last dimensions. @see torch.nn.RMSNorm @see https://arxiv.org/abs/1910.07467 */
export class RMSNorm extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof RMSNormOptions, true>> = {
    eps: true,
    elementwiseAffine: true,
    device: true,
    dtype: true,
  };

  /** Sizes of the dimensions that are normalised. */
  readonly normalizedShape: readonly number[];
  readonly eps: number | null;
  readonly elementwiseAffine: boolean;
  weight: Parameter | null;

  constructor(normalizedShape: number | readonly number[], options: RMSNormOptions = {}) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { normalizedShape });
    const { eps = null, elementwiseAffine = true, ...factory } = options;
    this.normalizedShape = shapeList(normalizedShape);
    this.eps = eps;
    this.elementwiseAffine = elementwiseAffine;
    this.weight = elementwiseAffine ? new Parameter(empty(this.normalizedShape, factory)) : null;
    this.resetParameters();
  }

  /** Weight 1. */
  resetParameters(): void {
    if (this.weight !== null) ones_(this.weight);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return rmsNorm(input, this.normalizedShape, { weight: this.weight, eps: this.eps });
  }

  override extraRepr(): string {
    return `${pythonLiteral(this.normalizedShape)}, eps=${pythonLiteral(this.eps)}, elementwise_affine=${pythonLiteral(this.elementwiseAffine)}`;
  }
}

/** Options of `GroupNorm`. */
export interface GroupNormOptions extends FactoryOptions {
  /** Added to the variance (default 1e-5). */
  readonly eps?: number;
  /** Whether there is a weight (default true). */
  readonly affine?: boolean;
  /** Whether there is a bias beside the weight (default true). */
  readonly bias?: boolean;
}

/** Mean 0 and variance 1 over groups of channels of [N, C, …]. @see torch.nn.GroupNorm @see https://arxiv.org/abs/1803.08494 */
export class GroupNorm extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof GroupNormOptions, true>> = {
    eps: true,
    affine: true,
    bias: true,
    device: true,
    dtype: true,
  };

  readonly eps: number;
  readonly affine: boolean;
  weight: Parameter | null;
  bias: Parameter | null;

  /** @throws invalid-argument unless the groups divide the channels */
  constructor(
    readonly numGroups: number,
    readonly numChannels: number,
    options: GroupNormOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { numGroups, numChannels });
    if (numChannels % numGroups !== 0) {
      throw new TesseraError(
        'invalid-argument',
        `GroupNorm: numChannels (${numChannels}) must be divisible by numGroups (${numGroups})`,
        { hints: ['Choose a number of groups that divides the channels.'] },
      );
    }
    const { eps = 1e-5, affine = true, bias = true, ...factory } = options;
    this.eps = eps;
    this.affine = affine;
    this.weight = affine ? new Parameter(empty([numChannels], factory)) : null;
    this.bias = affine && bias ? new Parameter(empty([numChannels], factory)) : null;
    this.resetParameters();
  }

  /** Weight 1, bias 0. */
  resetParameters(): void {
    if (this.weight !== null) ones_(this.weight);
    if (this.bias !== null) zeros_(this.bias);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return groupNorm(input, this.numGroups, {
      weight: this.weight,
      bias: this.bias,
      eps: this.eps,
    });
  }

  override extraRepr(): string {
    return `${this.numGroups}, ${this.numChannels}, eps=${pythonLiteral(this.eps)}, affine=${pythonLiteral(this.affine)}, bias=${pythonLiteral(this.bias !== null)}`;
  }
}
