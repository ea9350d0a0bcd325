/**
 * @file `Reducer`: averages gradients over the ranks, bucket by bucket, while `backward()` still runs.
 *
 * Eagerly, the reduction of a bucket starts when its last gradient has arrived (and those of the buckets before it
 * have started, so that all ranks start them in one order), and `backward()` returns when all are there. In a captured
 * `backward()` the same is written as operators; the compiler starts each reduction as soon as its gradients exist.
 * What is reduced is the whole gradient of a parameter, with what `noSync()` accumulated before.
 */
import { type RunInScope, TesseraError, scopesOf } from '@tessera/shared';
import { type Tensor, callOp, cat, noGrad } from '@tessera/tensor';
import { type GradientListener, gradientOf } from '@tessera/tensor/internal';
import type { Pending } from '../communicator.js';
import { allReduceOp, waitOp } from '../functional/ops.js';
import { holdingMemory } from '../holding-memory.js';
import { tensorBuffer } from '../host-buffer.js';
import type { ProcessGroup } from '../process-group.js';
import type { GradientBucket } from './buckets.js';
import { flattenGradients, spreadGradients } from './flat-gradients.js';
import { StagedGradients } from './staged-gradients.js';
import { flagUsed, flaggedParameters, unusedError, unusedInGraph } from './unused-parameters.js';

/** A bucket in the present backward. */
interface BucketState {
  readonly bucket: GradientBucket;
  /** Parameters whose gradients have not arrived. */
  readonly waiting: Set<Tensor>;
  /** Its reduction, once it has begun. */
  reduction: { readonly flat: Tensor; readonly pending: Pending } | null;
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
  private readonly params: readonly Tensor[];
  private states: BucketState[] = [];
  private stateOf = new Map<Tensor, BucketState>();
  private started = 0;
  private used = new Set<Tensor>();

  constructor(
    private readonly buckets: readonly GradientBucket[],
    private readonly options: ReducerOptions,
  ) {
    this.params = buckets.flatMap(({ params }) => params);
    this.staged = new StagedGradients(buckets, options);
    this.begin();
  }

  /** Runs a function with `enabled` as given. */
  readonly withEnabled: RunInScope<boolean> = scopesOf(
    () => this.enabled,
    (enabled) => (this.enabled = enabled),
  );

  /** Whether a reduction changes anything. */
  private get isActive(): boolean {
    return this.enabled && this.options.group.size > 1;
  }

  /** Whether synchronous code can wait for the other ranks. */
  private get canBlock(): boolean {
    const { communicator } = this.options.group;
    return communicator.canBlock && this.buckets.every(({ device }) => device === 'cpu');
  }

  /**
   * Forgets the last backward. Where it did not come to its end, reductions may be under way: nobody waits for them, nor
   * hears of their errors, and their memory goes when they are done.
   */
  private begin(): void {
    for (const { reduction } of this.states) reduction?.flat.dispose();
    this.stateOf = new Map();
    this.states = this.buckets.map((bucket) => {
      const state = { bucket, waiting: new Set(bucket.params), reduction: null };
      for (const param of bucket.params) this.stateOf.set(param, state);
      return state;
    });
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
    this.stateOf.get(leaf)!.waiting.delete(leaf);
    this.startComplete();
  }

  private startComplete(): void {
    for (; this.started < this.states.length; this.started++) {
      const state = this.states[this.started]!;
      if (state.waiting.size > 0) return;
      const { size, communicator } = this.options.group;
      const flat = flattenGradients(state.bucket, size);
      const pending = holdingMemory(communicator.allReduce(tensorBuffer(flat), 'sum'), [flat]);
      state.reduction = { flat, pending };
    }
  }

  finished(): void {
    if (!this.isActive || this.used.size === 0) return;
    try {
      if (this.canBlock) this.finishReductions();
      else {
        this.checkUnused();
        this.staged.take(this.used);
      }
    } finally {
      this.begin();
    }
  }

  private finishReductions(): void {
    const receivers = this.completeUnused();
    for (const { bucket, reduction } of this.states) {
      reduction!.pending.waitSync();
      spreadGradients(reduction!.flat, bucket, (param) => receivers.has(param));
    }
  }

  /** Lets buckets go whose parameters got no gradient on this rank. Returns who gets one. */
  private completeUnused(): ReadonlySet<Tensor> {
    this.checkUnused();
    const { params, used } = this;
    if (!this.options.findUnusedParameters) return used;
    for (const { waiting } of this.states) waiting.clear();
    this.startComplete();
    const flags = flagUsed(params, used);
    const { communicator } = this.options.group;
    holdingMemory(communicator.allReduce(tensorBuffer(flags), 'max'), [flags]).waitSync();
    return flaggedParameters(params, flags);
  }

  /** @throws distributed-mismatch where this backward left parameters out, unless such are looked for */
  private checkUnused(): void {
    const { nameOf, group, findUnusedParameters } = this.options;
    if (findUnusedParameters) return;
    const unused = this.params.filter((param) => !this.used.has(param));
    if (unused.length > 0) throw unusedError(unused.map(nameOf), group.rank);
  }

  captured(leaves: readonly Tensor[]): void {
    if (!this.isActive) return;
    if (!this.canBlock) throw this.captureError();
    const { nameOf, group, findUnusedParameters } = this.options;
    const given = new Set(leaves);
    const unused = this.params.filter((param) => !given.has(param));
    if (unused.length > 0)
      throw findUnusedParameters
        ? unusedInGraph(nameOf(unused[0]!))
        : unusedError(unused.map(nameOf), group.rank);
    noGrad(() => this.reduceInGraph());
  }

  private reduceInGraph(): void {
    const { group } = this.options;
    const reductions = this.buckets.map(({ params }) => {
      const grads = params.map((param) => gradientOf(param)!.reshape([-1]));
      return callOp(allReduceOp, [cat(grads).mul(1 / group.size), 'sum', group.name]);
    });
    this.buckets.forEach(({ params }, i) => {
      const flat = callOp(waitOp, [reductions[i]]);
      let offset = 0;
      for (const param of params) {
        gradientOf(param)!.copy_(flat.narrow(0, offset, param.numel).view(param.sizes));
        offset += param.numel;
      }
    });
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
