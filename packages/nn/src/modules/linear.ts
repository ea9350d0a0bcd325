/**
 * @file `Linear`: y = x Wᵀ + b.
 */
import { type Tensor, empty, linear } from '@tessera/tensor';
import { calculateFanInAndFanOut } from '../init/fan.js';
import { uniform_ } from '../init/fill.js';
import { kaimingUniform_ } from '../init/kaiming.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkNumbers, checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';

/** Options of `Linear`. */
export interface LinearOptions extends FactoryOptions {
  /** Whether a bias is added (default true). */
  readonly bias?: boolean;
}

/** Affine map of the last dimension, […, in] → […, out]. @see torch.nn.Linear */
export class Linear extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof LinearOptions, true>> = {
    bias: true,
    device: true,
    dtype: true,
  };

  /** [out, in] */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;

  constructor(
    readonly inFeatures: number,
    readonly outFeatures: number,
    options: LinearOptions = {},
  ) {
    super();
    checkNumbers(new.target, { inFeatures, outFeatures });
    checkOptions(new.target, options);
    const { bias = true, ...factory } = options;
    this.weight = new Parameter(empty([outFeatures, inFeatures], factory));
    this.bias = bias ? new Parameter(empty([outFeatures], factory)) : null;
    this.resetParameters();
  }

  /** Draws new values: uniform within ±1/√in. */
  resetParameters(): void {
    kaimingUniform_(this.weight, { a: Math.sqrt(5) });
    if (this.bias !== null) resetBias(this.weight, this.bias);
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor): Tensor {
    return linear(input, this.weight, this.bias);
  }

  override extraRepr(): string {
    return `in_features=${this.inFeatures}, out_features=${this.outFeatures}, bias=${pythonLiteral(this.bias !== null)}`;
  }
}

/** `Linear` under the name that PyTorch prints for the output projection of attention. */
export class NonDynamicallyQuantizableLinear extends Linear {}

/** Uniform within ±1/√fanIn, as Linear and convolutions start their biases. */
export function resetBias(weight: Tensor, bias: Tensor): void {
  const [fanIn] = calculateFanInAndFanOut(weight);
  const bound = fanIn > 0 ? 1 / Math.sqrt(fanIn) : 0;
  uniform_(bias, -bound, bound);
}
