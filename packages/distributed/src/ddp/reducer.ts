/**
 * @file `Reducer`: averages gradients over the ranks, bucket by bucket, while `backward()` still runs.
 *
 * Eagerly, the reduction of a bucket starts when its last gradient has arrived (and those of the buckets before it
 * have started, so that all ranks start them in one order), and `backward()` returns when all are there. In a captured
 * `backward()` the same is written as operators; the compiler starts each reduction as soon as its gradients exist.
 * What is reduced is the whole gradient of a parameter, with what `noSync()` accumulated before.
 */
import { TesseraError } from '@tessera/shared';
import {
  type GradientListener,
  type Tensor,
  callOp,
  cat,
  emptyContiguous,
  gradientOf,
  noGrad,
} from '@tessera/tensor';
import type { Pending } from '../communicator.js';
import { tensorBuffer } from '../host-buffer.js';
import { allReduceOp, waitOp } from '../functional/ops.js';
import type { ProcessGroup } from '../process-group.js';
import type { GradientBucket } from './buckets.js';
import { flattenGradients, spreadGradients } from './flat-gradients.js';
import { StagedGradients } from './staged-gradients.js';

/** A bucket in the present backward. */
interface BucketState {
  readonly bucket: GradientBucket;
  readonly waiting: Set<Tensor>;
  flat: Tensor | null;
  pending: Pending | null;
}

/** What the reducer is told besides its buckets. */
export interface ReducerOptions {
  readonly group: ProcessGroup;
  readonly nameOf: (param: Tensor) => string;
  readonly findUnusedParameters: boolean;
}

/** See the file header. */
export class Reducer implements GradientListener {
  /** Whether gradients are reduced; off inside `noSync()`. */
  enabled = true;
  /** Gradients on a device whose memory must be awaited. */
  readonly staged: StagedGradients;
  private states: BucketState[] = [];
  private started = 0;
  private used = new Set<Tensor>();

  constructor(
    private readonly buckets: readonly GradientBucket[],
    private readonly options: ReducerOptions,
  ) {
    this.staged = new StagedGradients(buckets, options.group);
    this.begin();
  }

  /** Whether a reduction changes anything. */
  private get isActive(): boolean {
    return this.enabled && this.options.group.size > 1;
  }

  /** Whether synchronous code can wait for the other ranks. */
  private get canBlock(): boolean {
    const { communicator } = this.options.group;
    return communicator.canBlock && this.buckets.every(({ device }) => device === 'cpu');
  }

  /** Forgets a backward that did not come to its end. */
  private begin(): void {
    for (const { flat, pending } of this.states) {
      pending?.waitSync();
      flat?.dispose();
    }
    this.states = this.buckets.map((bucket) => ({
      bucket,
      waiting: new Set(bucket.params),
      flat: null,
      pending: null,
    }));
    this.started = 0;
    this.used = new Set();
  }

  /** @throws distributed-pending if gradients of the last backward have not been synchronized */
  prepare(): void {
    this.staged.checkSynchronized();
    if (this.used.size > 0) this.begin();
  }

  arrived(leaf: Tensor): void {
    if (!this.isActive) return;
    this.used.add(leaf);
    if (!this.canBlock) return;
    this.states.find(({ bucket }) => bucket.params.includes(leaf))!.waiting.delete(leaf);
    this.startComplete();
  }

  private startComplete(): void {
    for (; this.started < this.states.length; this.started++) {
      const state = this.states[this.started]!;
      if (state.waiting.size > 0) return;
      state.flat = flattenGradients(state.bucket, this.options.group.size);
      state.pending = this.options.group.communicator.allReduce(tensorBuffer(state.flat), 'sum');
    }
  }

  finished(): void {
    if (!this.isActive || this.used.size === 0) return;
    if (!this.canBlock) {
      this.used = new Set();
      this.staged.take();
      return;
    }
    try {
      const receives = this.completeUnused();
      for (const state of this.states) {
        state.pending!.waitSync();
        state.pending = null;
        spreadGradients(state.flat!, state.bucket, receives);
      }
    } finally {
      this.begin();
    }
  }

  /** Lets buckets go whose parameters got no gradient on this rank. Returns who gets one. */
  private completeUnused(): (param: Tensor) => boolean {
    const unused = this.states.flatMap(({ waiting }) => [...waiting]);
    if (!this.options.findUnusedParameters) {
      if (unused.length > 0) throw this.unusedError(unused);
      return () => true;
    }
    for (const { waiting } of this.states) waiting.clear();
    this.startComplete();
    const all = this.buckets.flatMap(({ params }) => params);
    const flags = emptyContiguous([all.length], 'uint8', 'cpu');
    const { view } = tensorBuffer(flags);
    view().set(all.map((param) => (this.used.has(param) ? 1 : 0)));
    this.options.group.communicator.allReduce(tensorBuffer(flags), 'max').waitSync();
    const usedSomewhere = new Set(all.filter((_, i) => view()[i] === 1));
    flags.dispose();
    return (param) => usedSomewhere.has(param);
  }

  private unusedError(unused: readonly Tensor[]): TesseraError {
    const { nameOf, group } = this.options;
    const names = unused.map(nameOf);
    return new TesseraError(
      'distributed-mismatch',
      `Rank ${group.rank}: backward() gave no gradient to ${names.length} parameters (${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}), so their reduction over the ranks could not begin.`,
      {
        context: { parameters: names },
        hints: [
          'Let all outputs of forward() take part in the loss.',
          'Or pass { findUnusedParameters: true } to DistributedDataParallel.',
          'Gradients over several backward() calls are accumulated inside model.noSync(), but for the last.',
        ],
      },
    );
  }

  captured(leaves: readonly Tensor[]): void {
    if (!this.isActive) return;
    if (!this.canBlock) throw this.captureError();
    const given = new Set(leaves);
    const unused = this.buckets.flatMap(({ params }) => params.filter((p) => !given.has(p)));
    if (unused.length > 0 && !this.options.findUnusedParameters) throw this.unusedError(unused);
    if (unused.length > 0) throw this.unusedInGraph(unused);
    noGrad(() => this.reduceInGraph());
  }

  private reduceInGraph(): void {
    const { group } = this.options;
    const reductions = this.buckets.map(({ params }) => {
      const grads = params.map((param) => gradientOf(param)!.reshape([-1]));
      return callOp(allReduceOp, [cat(grads).mul(1 / group.size), 'sum', group.name]) as Tensor;
    });
    this.buckets.forEach(({ params }, i) => {
      const flat = callOp(waitOp, [reductions[i]]) as Tensor;
      let offset = 0;
      for (const param of params) {
        gradientOf(param)!.copy_(flat.narrow(0, offset, param.numel).view(param.sizes));
        offset += param.numel;
      }
    });
  }

  private unusedInGraph(unused: readonly Tensor[]): TesseraError {
    return new TesseraError(
      'aot-unsupported',
      `Which parameters are unused on all ranks is only known at run time, so a compiled backward() cannot reduce gradients where ${this.options.nameOf(unused[0]!)} has none.`,
      {
        hints: [
          'Compile the forward pass only, and call backward() outside; findUnusedParameters works there.',
        ],
      },
    );
  }

  private captureError(): TesseraError {
    return new TesseraError(
      'data-async-only',
      'Gradients on this device are reduced asynchronously, which a backward() inside a compiled function cannot wait for.',
      {
        hints: [
          'Compile the forward pass, call backward() outside, then await model.synchronize() before the step.',
        ],
      },
    );
  }
}
