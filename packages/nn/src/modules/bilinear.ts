/**
 * @file `Bilinear`: y = x₁ᵀ W x₂ + b.
 */
import { type Tensor, bilinear, empty } from '@tessera/tensor';
import { uniform_ } from '../init/fill.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { LinearOptions } from './linear.js';

/** Bilinear map of last dimensions, […, in1], […, in2] → […, out]. @see torch.nn.Bilinear */
export class Bilinear extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof LinearOptions, true>> = {
    bias: true,
    device: true,
    dtype: true,
  };

  /** [out, in1, in2] */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;

  constructor(
    readonly in1Features: number,
    readonly in2Features: number,
    readonly outFeatures: number,
    options: LinearOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const { bias = true, ...factory } = options;
    this.weight = new Parameter(empty([outFeatures, in1Features, in2Features], factory));
    this.bias = bias ? new Parameter(empty([outFeatures], factory)) : null;
    this.resetParameters();
  }

  /** Draws new values: uniform within ±1/√in1. */
  resetParameters(): void {
    const bound = 1 / Math.sqrt(this.in1Features);
    uniform_(this.weight, -bound, bound);
    if (this.bias !== null) uniform_(this.bias, -bound, bound);
  }

  /** @throws shape-mismatch */
  override forward(input1: Tensor, input2: Tensor): Tensor {
    return bilinear(input1, input2, this.weight, this.bias);
  }

  override extraRepr(): string {
    return `in1_features=${this.in1Features}, in2_features=${this.in2Features}, out_features=${this.outFeatures}, bias=${pythonLiteral(this.bias !== null)}`;
  }
}
