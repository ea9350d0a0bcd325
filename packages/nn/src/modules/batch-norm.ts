/**
 * @file `BatchNorm1d`, `BatchNorm2d` and `BatchNorm3d`: each channel normalised over the batch.
 *
 * In training the statistics of the batch are used and the running ones are updated in place; in
 * evaluation the running ones are used. Buffers have PyTorch's names, as everything in a state dict.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  empty,
  noGrad,
  ones,
  reciprocal,
  tensor,
  zeros,
  zerosLike,
} from '@tessera/tensor';
import { batchNorm, fill_, formatSizes, rsub, zero_ } from '@tessera/tensor/internal';
import { ones_, zeros_ } from '../init/fill.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';

/** Options of batch norms. */
export interface BatchNormModuleOptions extends FactoryOptions {
  /** Added to the variance (default 1e-5). */
  readonly eps?: number;
  /**
   * Share of a batch in the new running statistics (default 0.1). Null averages all batches.
   */
  readonly momentum?: number | null;
  /** Whether there is a weight (default true). */
  readonly affine?: boolean;
  /** Whether there is a bias beside the weight (default true). */
  readonly bias?: boolean;
  /** Whether running statistics are kept (default true); without, every batch is normalised by its own. */
  readonly trackRunningStats?: boolean;
}

/** What they have in common. */
export abstract class BatchNorm extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof BatchNormModuleOptions, true>> = {
    eps: true,
    momentum: true,
    affine: true,
    bias: true,
    trackRunningStats: true,
    device: true,
    dtype: true,
  };

  readonly eps: number;
  readonly momentum: number | null;
  readonly affine: boolean;
  readonly trackRunningStats: boolean;
  /** [C], or null. */
  weight: Parameter | null;
  /** [C], or null. */
  bias: Parameter | null;
  declare running_mean: Tensor | null;
  declare running_var: Tensor | null;
  declare num_batches_tracked: Tensor | null;

  constructor(
    readonly numFeatures: number,
    options: BatchNormModuleOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { numFeatures });
    const {
      eps = 1e-5,
      momentum = 0.1,
      affine = true,
      bias = true,
      trackRunningStats = true,
      ...factory
    } = options;
    this.eps = eps;
    this.momentum = momentum;
    this.affine = affine;
    this.trackRunningStats = trackRunningStats;
    this.weight = affine ? new Parameter(empty([numFeatures], factory)) : null;
    this.bias = affine && bias ? new Parameter(empty([numFeatures], factory)) : null;
    this.registerBuffer('running_mean', trackRunningStats ? zeros([numFeatures], factory) : null);
    this.registerBuffer('running_var', trackRunningStats ? ones([numFeatures], factory) : null);
    this.registerBuffer(
      'num_batches_tracked',
      trackRunningStats ? tensor(0, { dtype: 'int64', device: factory.device }) : null,
    );
    this.resetParameters();
  }

  /** @internal Files of before PyTorch 0.4.1, and of other programs, have no count: it stays what it is. */
  override _loading(values: Record<string, Tensor>, prefix: string): void {
    const count = this.num_batches_tracked;
    if (count !== null && !count.isFake) values[`${prefix}num_batches_tracked`] ??= count;
  }

  /** Forgets the running statistics. */
  resetRunningStats(): void {
    noGrad(() => {
      if (this.running_mean !== null) zero_(this.running_mean);
      if (this.running_var !== null) fill_(this.running_var, 1);
      if (this.num_batches_tracked !== null) zero_(this.num_batches_tracked);
    });
  }

  /** Weight 1, bias 0, running statistics of nothing. */
  resetParameters(): void {
    this.resetRunningStats();
    if (this.weight !== null) ones_(this.weight);
    if (this.bias !== null) zeros_(this.bias);
  }

  /** @throws shape-mismatch if the input has another rank */
  protected abstract checkInput(input: Tensor): void;

  /** [N, C, …] → [N, C, …] @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    this.checkInput(input);
    const usesBatch = this.training || this.running_mean === null;
    if (usesBatch) checkBatch(input);
    const { running_mean: mean, running_var: variance, momentum } = this;
    const keepsStats = !this.training || this.trackRunningStats;
    const count = this.training && keepsStats ? this.num_batches_tracked : null;
    count?.add_(1);
    if (momentum === null && count !== null && mean !== null && variance !== null)
      return this.averageBatches(input, mean, variance, count);
    const [runningMean, runningVar] = keepsStats ? [mean, variance] : [null, null];
    return this.normalize(input, usesBatch, runningMean, runningVar, momentum ?? 0);
  }

  private normalize(
    input: Tensor,
    training: boolean,
    runningMean: Tensor | null,
    runningVar: Tensor | null,
    momentum: number,
  ): Tensor {
    const { weight, bias, eps } = this;
    return batchNorm(input, { weight, bias, runningMean, runningVar, training, momentum, eps });
  }

  /** The share of this batch stays a tensor: as a number it would be another constant in every call. */
  private averageBatches(input: Tensor, mean: Tensor, variance: Tensor, count: Tensor): Tensor {
    const batch = [zerosLike(mean), zerosLike(variance)] as const;
    const result = this.normalize(input, true, ...batch, 1);
    if (input.numel === 0) return result;
    noGrad(() => {
      const share = reciprocal(count.to(mean.dtype === 'float64' ? 'float64' : 'float32'));
      const rest = rsub(share, 1);
      mean.mul_(rest).add_(batch[0].mul(share));
      variance.mul_(rest).add_(batch[1].mul(share));
    });
    return result;
  }

  override extraRepr(): string {
    return `${this.numFeatures}, eps=${pythonLiteral(this.eps)}, momentum=${pythonLiteral(this.momentum)}, affine=${pythonLiteral(this.affine)}, bias=${pythonLiteral(this.bias !== null)}, track_running_stats=${pythonLiteral(this.trackRunningStats)}`;
  }
}

/** A variance needs more than one value. @throws shape-mismatch */
function checkBatch(input: Tensor): void {
  const perChannel = input.sizes.reduce(
    (product, size, i) => (i === 1 ? product : product * size),
    1,
  );
  if (perChannel !== 1) return;
  throw new TesseraError(
    'shape-mismatch',
    `Expected more than 1 value per channel when training, got input size ${formatSizes(input.sizes)}`,
    { hints: ['Use a larger batch, or call eval() for single samples.'] },
  );
}

/** @throws shape-mismatch unless the input has one of the ranks */
export function checkRank(name: string, input: Tensor, ranks: readonly number[]): void {
  if (ranks.includes(input?.ndim)) return;
  throw new TesseraError(
    'shape-mismatch',
    `${name}: expected ${ranks.map((rank) => `${rank}D`).join(' or ')} input (got ${input?.ndim}D input)`,
    { hints: ['The channel dimension is the second.'] },
  );
}

/** Batch norm of [N, C] or [N, C, L]. @see torch.nn.BatchNorm1d @see https://arxiv.org/abs/1502.03167 */
export class BatchNorm1d extends BatchNorm {
  protected override checkInput(input: Tensor): void {
    checkRank('BatchNorm1d', input, [2, 3]);
  }
}

/** Batch norm of [N, C, H, W]. @see torch.nn.BatchNorm2d @see https://arxiv.org/abs/1502.03167 */
export class BatchNorm2d extends BatchNorm {
  protected override checkInput(input: Tensor): void {
    checkRank('BatchNorm2d', input, [4]);
  }
}

/** Batch norm of [N, C, D, H, W]. @see torch.nn.BatchNorm3d @see https://arxiv.org/abs/1502.03167 */
export class BatchNorm3d extends BatchNorm {
  protected override checkInput(input: Tensor): void {
    checkRank('BatchNorm3d', input, [5]);
  }
}
