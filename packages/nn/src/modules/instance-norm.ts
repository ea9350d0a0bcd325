/**
 * @file `InstanceNorm1d`, `InstanceNorm2d` and `InstanceNorm3d`: each channel of each sample normalised.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, squeeze, unsqueeze } from '@tessera/tensor';
import { formatSizes, instanceNorm } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import { BatchNorm, type BatchNormModuleOptions, checkRank } from './batch-norm.js';

/** Options of instance norms. */
export interface InstanceNormModuleOptions extends Omit<BatchNormModuleOptions, 'momentum'> {
  /** Share of a batch in the new running statistics (default 0.1). */
  readonly momentum?: number;
}

/** What they have in common; without options there is neither weight nor running statistics. */
abstract class InstanceNorm extends BatchNorm {
  constructor(numFeatures: number, options: InstanceNormModuleOptions = {}) {
    // A spread makes an object of anything.
    checkOptions(new.target, options);
    super(numFeatures, { affine: false, trackRunningStats: false, ...options });
  }

  /** Rank of an input with a batch dimension. */
  protected abstract get rank(): number;

  protected override checkInput(input: Tensor): void {
    checkRank(this.constructor.name, input, [this.rank - 1, this.rank]);
    const channels = input.sizes.at(1 - this.rank)!;
    if (this.affine && channels !== this.numFeatures)
      throw new TesseraError(
        'shape-mismatch',
        `${this.constructor.name}: expected input's size at dim=${input.ndim - this.rank + 1} to match numFeatures (${this.numFeatures}), but got: ${formatSizes(input.sizes)}`,
        { hints: ['The input is [N, C, …] or [C, …].'] },
      );
  }

  /** [N, C, …] or [C, …] → the same @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    this.checkInput(input);
    const batched = input.ndim === this.rank;
    const result = instanceNorm(batched ? input : unsqueeze(input, 0), {
      weight: this.weight,
      bias: this.bias,
      runningMean: this.running_mean,
      runningVar: this.running_var,
      useInputStats: this.training || !this.trackRunningStats,
      momentum: this.momentum ?? 0,
      eps: this.eps,
    });
    return batched ? result : squeeze(result, 0);
  }
}

/** Instance norm of [N, C, L] or [C, L]. @see torch.nn.InstanceNorm1d @see https://arxiv.org/abs/1607.08022 */
export class InstanceNorm1d extends InstanceNorm {
  protected override get rank(): number {
    return 3;
  }
}

/** Instance norm of [N, C, H, W] or [C, H, W]. @see torch.nn.InstanceNorm2d @see https://arxiv.org/abs/1607.08022 */
export class InstanceNorm2d extends InstanceNorm {
  protected override get rank(): number {
    return 4;
  }
}

/** Instance norm of [N, C, D, H, W] or [C, D, H, W]. @see torch.nn.InstanceNorm3d @see https://arxiv.org/abs/1607.08022 */
export class InstanceNorm3d extends InstanceNorm {
  protected override get rank(): number {
    return 5;
  }
}
