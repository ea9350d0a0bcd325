/**
 * @file `DistributedDataParallel`: one model on every rank, trained on different samples with the same gradients.
 *
 * Parameters and buffers begin as those of rank 0. Gradients are averaged over the ranks while `backward()` runs
 * (reducer.ts), so that equal optimizers keep the models equal. Buffers (running statistics) are those of rank 0 at
 * the start of every forward pass, or from `synchronize()` on where they cannot be sent in the middle of it.
 * Modelled on `torch.nn.parallel.DistributedDataParallel`.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, callOp, noGrad } from '@tessera/tensor';
import { inLibraryScope, setGradientListener } from '@tessera/tensor/internal';
import { Module } from '@tessera/nn';
import { checkAgreement } from '../agreement.js';
import { broadcast } from '../eager/reduce.js';
import { tensorBuffer } from '../host-buffer.js';
import { broadcastOp, waitOp } from '../functional/ops.js';
import { type ProcessGroup, groupNamed } from '../process-group.js';
import { makeGradientBuckets } from './buckets.js';
import { Reducer } from './reducer.js';

/** Options of `DistributedDataParallel`. */
export interface DistributedDataParallelOptions {
  /** Default: the group of all ranks. */
  readonly processGroup?: ProcessGroup;
  /** Megabytes (2^20 bytes) of gradients that are reduced together; default 25. */
  readonly bucketCapMb?: number;
  /** Whether buffers are those of rank 0 at the start of every forward pass; default true. */
  readonly broadcastBuffers?: boolean;
  /** Whether parameters may get no gradient on some ranks; costs one small reduction. Default false. */
  readonly findUnusedParameters?: boolean;
}

const OPTIONS = new Set([
  'processGroup',
  'bucketCapMb',
  'broadcastBuffers',
  'findUnusedParameters',
]);

/** See the file header. */
export class DistributedDataParallel<M extends Module = Module> extends Module {
  readonly broadcastBuffers: boolean;
  private readonly _group: ProcessGroup;
  private readonly _reducer: Reducer;

  /**
   * Wraps a model. Every rank does so at the same time; the state of rank 0 is sent to all.
   *
   * @throws distributed-unavailable, distributed-mismatch where the ranks' models differ, invalid-argument,
   *   data-async-only where the communicator cannot block or the model is not on `cpu`
   */
  constructor(
    readonly module: M,
    options: DistributedDataParallelOptions = {},
  ) {
    super();
    if (!(module instanceof Module)) throw noModule(module);
    for (const name of Object.keys(options)) if (!OPTIONS.has(name)) throw unknownOption(name);
    const { processGroup = groupNamed(), bucketCapMb = 25, broadcastBuffers = true } = options;
    if (!(bucketCapMb > 0)) throw badCap(bucketCapMb);
    const trained = module.namedParameters().filter(([, param]) => param.requiresGrad);
    if (trained.length === 0) throw nothingToTrain();
    this.broadcastBuffers = broadcastBuffers;
    this._group = processGroup;
    const names = new Map<Tensor, string>(trained.map(([name, param]) => [param, name]));
    this._reducer = new Reducer(
      makeGradientBuckets(
        trained.map(([, param]) => param),
        bucketCapMb * 2 ** 20,
      ),
      {
        group: processGroup,
        nameOf: (param) => names.get(param)!,
        findUnusedParameters: options.findUnusedParameters ?? false,
      },
    );
    if (processGroup.size > 1) this.shareState();
    for (const [, param] of trained) setGradientListener(param, this._reducer);
  }

  /** The state of rank 0 on every rank. */
  private shareState(): void {
    const { module, _group: group } = this;
    const tensors = [...module.namedParameters(), ...module.namedBuffers()];
    checkAgreement(
      group,
      'models',
      tensors.map(
        ([name, { dtype, sizes, strides }]) =>
          `${name}: ${dtype} [${sizes.join(', ')}] strides [${strides.join(', ')}]`,
      ),
    );
    const elsewhere = tensors.find(([, { device }]) => device !== 'cpu');
    if (elsewhere !== undefined || !group.communicator.canBlock) throw mustAwait(elsewhere?.[0]);
    const sent = tensors.map(([, tensor]) => {
      const dense = tensor.contiguous();
      return { tensor, dense, pending: group.communicator.broadcast(tensorBuffer(dense), 0) };
    });
    for (const { tensor, dense, pending } of sent) {
      pending.waitSync();
      if (dense !== tensor) noGrad(() => tensor.copy_(dense));
      else tensor.storage.version++;
    }
  }

  forward(...inputs: Parameters<M['forward']>): ReturnType<M['forward']> {
    this._reducer.prepare();
    if (this.broadcastBuffers && this._reducer.enabled) this.shareBuffers();
    return this.module.call(...inputs);
  }

  /** Whether a buffer can only be sent by `synchronize()`. */
  private mustAwait(buffer: Tensor): boolean {
    return buffer.device !== 'cpu' || !this._group.communicator.canBlock;
  }

  private shareBuffers(): void {
    const { module, _group: group } = this;
    if (group.size === 1) return;
    const buffers = module.buffers().filter((buffer) => !this.mustAwait(buffer));
    const share = (): void => {
      const sent = buffers.map((buffer) => callOp(broadcastOp, [buffer, 0, group.name]));
      buffers.forEach((buffer, i) => buffer.copy_(callOp(waitOp, [sent[i]])));
    };
    inLibraryScope(() => noGrad(share));
  }

  /**
   * Runs `fn`, forward and backward, without reducing gradients: they accumulate on every rank, and the next
   * `backward()` outside reduces all of them.
   */
  noSync<R>(fn: () => R): R {
    return this._reducer.withEnabled(false, fn);
  }

  /**
   * Waits until the gradients of the last `backward()` are averaged, and buffers are those of rank 0. Needed before the
   * step where the model is on WebGPU, or the communicator cannot block; elsewhere there is nothing left to do.
   */
  async synchronize(): Promise<void> {
    const hasReduced = await this._reducer.staged.synchronize();
    if (!hasReduced || !this.broadcastBuffers) return;
    const { module, _group: group } = this;
    const buffers = module.buffers().filter((buffer) => this.mustAwait(buffer));
    await Promise.all(buffers.map((buffer) => broadcast(buffer, group.ranks[0]!, { group })));
  }
}

function unknownOption(name: string): TesseraError {
  return new TesseraError('invalid-argument', `DistributedDataParallel has no option '${name}'.`, {
    hints: [`Options: ${[...OPTIONS].join(', ')}.`],
  });
}

function noModule(given: unknown): TesseraError {
  const what = 'DistributedDataParallel wraps a module';
  return new TesseraError('invalid-argument', `${what}, not ${String(given)}.`, {
    hints: ['Wrap the model, and compile a function that calls the wrapper.'],
  });
}

function badCap(value: number): TesseraError {
  return new TesseraError('invalid-argument', `bucketCapMb must be positive, not ${value}.`, {
    hints: ['It is in megabytes; the default is 25.'],
  });
}

function nothingToTrain(): TesseraError {
  return new TesseraError(
    'invalid-argument',
    'DistributedDataParallel is not needed when a module has no parameter that requires a gradient.',
    { hints: ['Call the module itself.'] },
  );
}

function mustAwait(name: string | undefined): TesseraError {
  return new TesseraError(
    'data-async-only',
    name === undefined
      ? 'This communicator cannot wait without giving the event loop a turn.'
      : `The state of the model must be sent from rank 0, and '${name}' is on a device that can only be read by awaiting it.`,
    { hints: ["Wrap the model while it is on 'cpu', then move it: model.to('wgpu')."] },
  );
}
