/**
 * @file `AdaptiveLogSoftmaxWithLoss`: a softmax over many classes, of which most are rare.
 *
 * Frequent classes have logits of their own in the head; rare ones form clusters, of which only those that occur
 * among the targets are computed. Which these are depends on values: a graph break when compiled.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  argmax,
  cat,
  gather,
  indexCopy,
  logSoftmax,
  neg,
  nonzero,
  zeros,
} from '@tessera/tensor';
import { formatSizes, checkTensors } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import type { FactoryOptions } from './factory-options.js';
import { Linear } from './linear.js';
import { ModuleList } from './module-list.js';
import { Sequential } from './sequential.js';

/** Options of `AdaptiveLogSoftmaxWithLoss`. */
export interface AdaptiveLogSoftmaxOptions extends FactoryOptions {
  /** How much narrower each cluster's projection is than the one before (default 4). */
  readonly divValue?: number;
  /** Whether the head has a bias (default false). */
  readonly headBias?: boolean;
}

/** Log probability of each target, [N], and the mean negative one. */
export interface AdaptiveLogSoftmaxResult {
  readonly output: Tensor;
  readonly loss: Tensor;
}

/** @see torch.nn.AdaptiveLogSoftmaxWithLoss @see Grave et al., https://arxiv.org/abs/1609.04309 */
export class AdaptiveLogSoftmaxWithLoss extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof AdaptiveLogSoftmaxOptions, true>> = {
    divValue: true,
    headBias: true,
    device: true,
    dtype: true,
  };

  /** Ends of the head's classes and of the clusters; the last is `nClasses`. */
  readonly cutoffs: readonly number[];
  readonly head: Linear;
  readonly tail: ModuleList<Sequential>;
  readonly divValue: number;

  /** @throws invalid-argument unless cutoffs rise and are below `nClasses` */
  constructor(
    readonly inFeatures: number,
    readonly nClasses: number,
    cutoffs: readonly number[],
    options: AdaptiveLogSoftmaxOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const { divValue = 4, headBias = false, ...factory } = options;
    const isList = Array.isArray(cutoffs);
    const rising =
      isList &&
      cutoffs.every((c, i) => Number.isInteger(c) && c > (cutoffs[i - 1] ?? 0) && c < nClasses);
    if (!rising || cutoffs.length === 0)
      throw new TesseraError(
        'invalid-argument',
        `AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and n_classes-1, not ${isList ? `[${cutoffs.join(', ')}]` : String(cutoffs)}`,
        { hints: ['Order classes by frequency, the most frequent first.'] },
      );
    this.cutoffs = [...cutoffs, nClasses];
    this.divValue = divValue;
    const clusters = cutoffs.length;
    this.head = new Linear(inFeatures, cutoffs[0]! + clusters, { bias: headBias, ...factory });
    this.tail = new ModuleList(
      cutoffs.map((start, i) => {
        const width = Math.floor(inFeatures / divValue ** (i + 1));
        const size = this.cutoffs[i + 1]! - start;
        return new Sequential(
          new Linear(inFeatures, width, { bias: false, ...factory }),
          new Linear(width, size, { bias: false, ...factory }),
        );
      }),
    );
  }

  /** Draws new values. */
  resetParameters(): void {
    for (const module of this.modules()) if (module instanceof Linear) module.resetParameters();
  }

  /** [N, inFeatures] and [N] class numbers, or one sample without N. @throws shape-mismatch, index-out-of-range */
  override forward(input: Tensor, target: Tensor): AdaptiveLogSoftmaxResult {
    checkTensors('AdaptiveLogSoftmaxWithLoss', { input, target });
    if (target.ndim === 0 && input.ndim === 1) {
      const { output, loss } = this.forward(input.unsqueeze(0), target.unsqueeze(0));
      return { output: output.squeeze(0), loss };
    }
    if (input.ndim !== 2 || target.ndim !== 1 || input.size(0) !== target.size(0))
      throw new TesseraError(
        'shape-mismatch',
        `AdaptiveLogSoftmaxWithLoss: Input and target should have the same size in the batch dimension, got ${formatSizes(input.sizes)} and ${formatSizes(target.sizes)}`,
        { hints: ['The input is [N, in_features], the target [N].'] },
      );
    const [shortlist] = this.cutoffs;
    let output = zeros([input.size(0)], { dtype: input.dtype, device: input.device });
    let headIndex = target;
    let used = 0;
    this.cutoffs.forEach((end, i) => {
      const start = i === 0 ? 0 : this.cutoffs[i - 1]!;
      const rows = nonzero(target.ge(start).logicalAnd(target.lt(end))).squeeze(1);
      if (rows.numel === 0) return;
      used += rows.numel;
      if (i === 0) return;
      const cluster = logSoftmax(this.tail.at(i - 1).call(input.indexSelect(0, rows)), 1);
      const relative = target.indexSelect(0, rows).sub(start);
      const picked = gather(cluster, 1, relative.unsqueeze(1)).squeeze(1);
      output = indexCopy(output, 0, rows, picked);
      headIndex = headIndex.indexFill(0, rows, shortlist + i - 1);
    });
    if (used !== target.numel)
      throw new TesseraError(
        'index-out-of-range',
        `AdaptiveLogSoftmaxWithLoss: Target values should be in [0, ${this.nClasses - 1}]`,
        { hints: ['Count classes from 0, or raise nClasses.'] },
      );
    const head = logSoftmax(this.head.call(input), 1);
    output = output.add(gather(head, 1, headIndex.unsqueeze(1)).squeeze(1));
    return { output, loss: neg(output).mean() };
  }

  /** Log probabilities of all classes, [N, nClasses]. */
  logProb(input: Tensor): Tensor {
    return this.fullLogProb(input, this.head.call(input));
  }

  private fullLogProb(input: Tensor, headOutput: Tensor): Tensor {
    const [shortlist] = this.cutoffs;
    const head = logSoftmax(headOutput, 1);
    const clusters = [...this.tail].map((tail, i) =>
      logSoftmax(tail.call(input), 1).add(head.narrow(1, shortlist + i, 1)),
    );
    return cat([head.narrow(1, 0, shortlist), ...clusters], 1);
  }

  /** The most likely class of each sample, [N]. */
  predict(input: Tensor): Tensor {
    return argmax(this.logProb(input), 1);
  }
}
