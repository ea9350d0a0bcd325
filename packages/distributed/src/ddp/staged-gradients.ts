/**
 * @file Gradients whose memory must be awaited: of WebGPU parameters, and over communicators that cannot block.
 *
 * They are taken away from their parameters when `backward()` ends and given back, averaged, by `synchronize()`: an
 * optimizer that steps too early finds none, and the next forward pass says so.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, cat, noGrad } from '@tessera/tensor';
import { autogradMeta, gradientOf } from '@tessera/tensor/internal';
import { allReduce } from '../eager/reduce.js';
import type { ProcessGroup } from '../process-group.js';
import type { GradientBucket } from './buckets.js';
import { inGradientLayout } from './flat-gradients.js';
import { flagUsed, flaggedParameters } from './unused-parameters.js';

/** What `StagedGradients` is told besides its buckets. */
export interface StagedOptions {
  readonly group: ProcessGroup;
  readonly findUnusedParameters: boolean;
}

/** See the file header. */
export class StagedGradients {
  private readonly taken = new Map<Tensor, Tensor>();
  /** Parameters that the last backward reached on this rank; null where nothing waits for `synchronize()`. */
  private used: ReadonlySet<Tensor> | null = null;

  constructor(
    private readonly buckets: readonly GradientBucket[],
    private readonly options: StagedOptions,
  ) {}

  /** @throws distributed-pending while gradients wait for `synchronize()` */
  checkSynchronized(): void {
    if (this.used === null) return;
    throw new TesseraError(
      'distributed-pending',
      'The gradients of the last backward() have not been reduced over the ranks.',
      {
        hints: ['Call await model.synchronize() between backward() and optimizer.step().'],
      },
    );
  }

  /** Takes the gradients of all parameters; `used` are those that the backward reached. @throws distributed-pending */
  take(used: ReadonlySet<Tensor>): void {
    this.checkSynchronized();
    this.used = used;
    for (const { params } of this.buckets)
      for (const param of params) {
        const grad = gradientOf(param);
        if (grad === null) continue;
        this.taken.set(param, grad);
        const meta = autogradMeta(param);
        meta.grad = null;
        meta.ownGrad = null;
      }
  }

  /** Averages what was taken, and gives it back. Whether there was anything. */
  async synchronize(): Promise<boolean> {
    const { used, buckets } = this;
    if (used === null) return false;
    const flats = buckets.map((bucket) => this.flatten(bucket));
    try {
      const { group } = this.options;
      const reductions = flats.map((flat) => allReduce(flat, { group }));
      const [receivers] = await Promise.all([this.usedSomewhere(used), ...reductions]);
      buckets.forEach((bucket, i) => this.giveBack(bucket, flats[i]!, receivers));
    } finally {
      for (const flat of flats) flat.dispose();
    }
    this.taken.clear();
    this.used = null;
    return true;
  }

  /** The parameters that get a gradient. */
  private async usedSomewhere(used: ReadonlySet<Tensor>): Promise<ReadonlySet<Tensor>> {
    const { group, findUnusedParameters } = this.options;
    if (!findUnusedParameters) return used;
    const params = this.buckets.flatMap((bucket) => bucket.params);
    const flags = flagUsed(params, used);
    await allReduce(flags, { op: 'max', group });
    return flaggedParameters(params, flags);
  }

  /** The bucket's gradients divided by the number of ranks, on their device; zeros for parameters without one. */
  private flatten({ params }: GradientBucket): Tensor {
    const { taken } = this;
    return noGrad(() => {
      const parts = params.map((param) => (taken.get(param) ?? param.zerosLike()).reshape([-1]));
      return cat(parts).mul_(1 / this.options.group.size);
    });
  }

  private giveBack({ params }: GradientBucket, flat: Tensor, receivers: ReadonlySet<Tensor>): void {
    let offset = 0;
    for (const param of params) {
      const part = flat.narrow(0, offset, param.numel).view(param.sizes);
      offset += param.numel;
      const own = this.taken.get(param);
      if (receivers.has(param)) {
        const grad = own ?? inGradientLayout(param);
        noGrad(() => grad.copy_(part));
        param.grad = grad;
      } else if (own !== undefined) param.grad = own;
    }
  }
}
