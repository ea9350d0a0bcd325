/**
 * @file `LinearCrossEntropyLoss`: a linear layer and the cross entropy of its logits as one module.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, reshape } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { linearCrossEntropy } from '../functional/linear-cross-entropy.js';
import { checkOptions } from '../module/check-options.js';
import { pythonLiteral } from '../module/module-repr.js';
import type { FactoryOptions } from './factory-options.js';
import { Linear } from './linear.js';
import { type CrossEntropyLossOptions, WeightedLoss } from './loss.js';

/** Options of `LinearCrossEntropyLoss`. */
export interface LinearCrossEntropyLossOptions
  extends Omit<CrossEntropyLossOptions, 'ignoreIndex'>, FactoryOptions {
  /** Further dimensions of the loss, d₁, … (default none). */
  readonly outFeatures?: readonly number[];
  /** Whether the linear layer adds a bias (default false). */
  readonly bias?: boolean;
  /** Targets with this value count for nothing; class indices only (default -100 for them). */
  readonly ignoreIndex?: number | null;
}

/** Cross entropy of the logits of a linear layer `linear`, input [N, in] → loss. @see torch.nn.LinearCrossEntropyLoss */
export class LinearCrossEntropyLoss extends WeightedLoss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<
    Record<keyof LinearCrossEntropyLossOptions, true>
  > = {
    outFeatures: true,
    bias: true,
    weight: true,
    ignoreIndex: true,
    reduction: true,
    labelSmoothing: true,
    dtype: true,
    device: true,
  };

  readonly numClasses: number;
  readonly outFeatures: readonly number[];
  readonly ignoreIndex: number | null;
  readonly labelSmoothing: number;
  readonly linear: Linear;

  /** @throws shape-mismatch, invalid-argument */
  constructor(inFeatures: number, numClasses: number, options: LinearCrossEntropyLossOptions = {}) {
    checkOptions(new.target, options);
    const { outFeatures = [], bias = false, weight, labelSmoothing = 0, dtype, device } = options;
    if (weight && formatSizes(weight.sizes) !== formatSizes([numClasses]))
      throw new TesseraError(
        'shape-mismatch',
        `expected weight shape to be [${numClasses}], got ${formatSizes(weight.sizes)}`,
        { hints: ['Give a weight for each class.'] },
      );
    if (!(labelSmoothing >= 0 && labelSmoothing <= 1))
      throw new TesseraError(
        'invalid-argument',
        `expected label_smoothing to be in range [0, 1], got ${labelSmoothing}`,
        { hints: ['It is a share of the target.'] },
      );
    super({ ...options, weight: weight ?? null });
    this.numClasses = numClasses;
    this.outFeatures = outFeatures;
    this.ignoreIndex = options.ignoreIndex ?? null;
    this.labelSmoothing = labelSmoothing;
    const outputs = outFeatures.reduce((product, size) => product * size, numClasses);
    this.linear = new Linear(inFeatures, outputs, {
      bias,
      ...(dtype === undefined ? {} : { dtype }),
      ...(device === undefined ? {} : { device }),
    });
  }

  /** @throws shape-mismatch, index-out-of-range */
  override forward(input: Tensor, target: Tensor): Tensor {
    const { weight, bias, inFeatures } = this.linear;
    const shape = [this.numClasses, ...this.outFeatures];
    return linearCrossEntropy(input, reshape(weight, [...shape, inFeatures]), target, {
      linearBias: bias === null ? null : reshape(bias, shape),
      weight: this.weight,
      reduction: this.reduction,
      labelSmoothing: this.labelSmoothing,
      ...(this.ignoreIndex === null ? {} : { ignoreIndex: this.ignoreIndex }),
    });
  }

  override extraRepr(): string {
    const { linear, numClasses, outFeatures, reduction, ignoreIndex, labelSmoothing } = this;
    return `in_features=${linear.inFeatures}, num_classes=${numClasses}, out_features=${pythonLiteral([...outFeatures])}, bias=${pythonLiteral(linear.bias !== null)}, reduction=${reduction}, ignore_index=${pythonLiteral(ignoreIndex)}, label_smoothing=${labelSmoothing === 0 ? '0.0' : pythonLiteral(labelSmoothing)}, options=None`;
  }
}
