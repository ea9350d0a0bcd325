/**
 * @file Gradients whose memory must be awaited: of WebGPU parameters, and over communicators that cannot block.
 *
 * They are taken away from their parameters when `backward()` ends and given back, averaged, by `synchronize()`: an
 * optimizer that steps too early finds none, and the next forward pass says so.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  autogradMeta,
  cat,
  download,
  gradientOf,
  noGrad,
  toDevice,
} from '@tessera/tensor';
import { tensorBuffer } from '../host-buffer.js';
import type { ProcessGroup } from '../process-group.js';
import type { GradientBucket } from './buckets.js';

/** See the file header. */
export class StagedGradients {
  private readonly taken = new Map<Tensor, Tensor>();

  constructor(
    private readonly buckets: readonly GradientBucket[],
    private readonly group: ProcessGroup,
  ) {}

  /** @throws distributed-pending while gradients wait for `synchronize()` */
  checkSynchronized(): void {
    if (this.taken.size === 0) return;
    throw new TesseraError(
      'distributed-pending',
      'The gradients of the last backward() have not been reduced over the ranks.',
      {
        hints: ['Call await model.synchronize() between backward() and optimizer.step().'],
      },
    );
  }

  /** Takes the gradients of all parameters. @throws distributed-pending */
  take(): void {
    this.checkSynchronized();
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

  /** Averages what was taken, and gives it back. */
  async synchronize(): Promise<void> {
    for (const bucket of this.buckets) await this.reduce(bucket);
    this.taken.clear();
  }

  private async reduce({ params, device }: GradientBucket): Promise<void> {
    const { group, taken } = this;
    const flat = noGrad(() =>
      cat(params.map((param) => (taken.get(param) ?? param.zerosLike()).reshape([-1]))),
    );
    const host = device === 'cpu' ? flat : await download(flat);
    noGrad(() => host.mul_(1 / group.size));
    await group.communicator.allReduce(tensorBuffer(host), 'sum').done;
    const reduced = device === 'cpu' ? host : toDevice(host, device);
    let offset = 0;
    for (const param of params) {
      const part = reduced.narrow(0, offset, param.numel).view(param.sizes);
      const grad = taken.get(param);
      noGrad(() => (grad === undefined ? undefined : grad.copy_(part)));
      if (grad !== undefined) param.grad = grad;
      offset += param.numel;
    }
    for (const tensor of new Set([flat, host, reduced])) tensor.dispose();
  }
}
