/**
 * @file Values that a backward node keeps, with the version they had.
 */
import { callOp } from '../dispatch/dispatcher.js';
import { DTYPES } from '../dtype.js';
import { getOp } from '../op/op-overload.js';
import { fakeFromMeta } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import type { TensorMeta } from '../op/op-record.js';
import { outsideScopes } from '../memory/library-scope.js';
import type { Storage } from '../memory/storage.js';
import { formatSizes } from '../shape.js';
import { autogradMeta } from './autograd-meta.js';
import { AccumulateGrad } from './accumulate-grad.js';
import { modifiedSince } from './backward-twice.js';
import { withGradMode } from './grad-mode.js';
import type { Edge, GradNode } from './grad-node.js';
import { gradEdge } from './history.js';
import { isInferenceTensor, refuseInferenceTensor } from './inference-mode.js';
import { type SavedTensorHooks, savedTensorHooks, withPackedSaves } from './saved-tensor-hooks.js';

/** What a hook made of a tensor, and the tensor's place in the graph. */
interface Packed {
  readonly value: unknown;
  readonly hooks: SavedTensorHooks;
  readonly edge: Edge | null;
}

/** A tensor whose values the vjp reads. */
export class SavedTensor {
  private readonly version: number;
  /** Null if a hook packed it. */
  private readonly tensor: Tensor | null;
  private readonly packed: Packed | null;
  /** The node that had made the tensor when it was saved. */
  private readonly maker: GradNode | null;
  private readonly outputNr: number;

  /** @param owner the node that saves the tensor, if it is that node's output number `outputNr` */
  constructor(tensor: Tensor, owner: GradNode | null = null, outputNr = 0) {
    if (isInferenceTensor(tensor))
      refuseInferenceTensor(
        'Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it in autograd.',
      );
    // No operator that it was made in gives it back.
    tensor.storage.scope = null;
    this.version = tensor.storage.version;
    this.maker = owner ?? tensor.autograd?.gradFn ?? null;
    this.outputNr = owner === null ? (tensor.autograd?.outputNr ?? 0) : outputNr;
    // Hooks know nothing of the tensors without values that functions are traced with.
    const hooks = tensor.storageOrNull?.state === 'fake' ? null : savedTensorHooks.active;
    this.tensor = hooks === null ? tensor : null;
    this.packed = hooks === null ? null : this.pack(tensor, hooks, owner);
  }

  private pack(tensor: Tensor, hooks: SavedTensorHooks, owner: GradNode | null): Packed {
    const edge = owner === null ? gradEdge(tensor) : { node: owner, index: this.outputNr };
    const value = outsideScopes(() =>
      withPackedSaves(null, () => withGradMode(false, () => hooks.pack(tensor))),
    );
    return { value, hooks, edge };
  }

  /** Its memory, unless a hook packed it. */
  get storages(): Storage[] {
    return this.tensor === null ? [] : [this.tensor.storage];
  }

  /** The tensor, if nobody modified it. @throws inplace-version */
  unpack(nodeName: string): Tensor {
    if (this.packed !== null) return unpacked(this.packed);
    const tensor = this.tensor!;
    const now = tensor.storage.version;
    if (now !== this.version) {
      const maker =
        this.maker === null ? '' : `, which is output ${this.outputNr} of ${this.maker.name},`;
      throw modifiedSince(
        `[${DTYPES[tensor.dtype].scalarTypeName} ${formatSizes(tensor.sizes)}]${maker} is at version ${now}; expected version ${this.version} instead (needed by ${nodeName}).`,
        'setDetectAnomaly(true) shows the forward op that saved it.',
      );
    }
    return tensor;
  }
}

/** What a hook gives back, in the place in the graph that the saved tensor had. */
function unpacked({ value, hooks, edge }: Packed): Tensor {
  const tensor = outsideScopes(() => withPackedSaves(null, () => hooks.unpack(value)));
  if (edge === null) return tensor;
  const out = callOp(getOp('aten::detach'), [tensor]);
  const meta = autogradMeta(out);
  if (edge.node instanceof AccumulateGrad) meta.accumulator = edge.node;
  else {
    meta.gradFn = edge.node;
    meta.outputNr = edge.index;
    meta.versionAtGradFn = out.storage.version;
  }
  out.requiresGradFlag = true;
  return out;
}

/** A tensor argument of which the vjp reads only the layout. */
export class SavedMeta {
  private readonly meta: TensorMeta;
  private readonly storageOffset: number;

  constructor(tensor: Tensor) {
    this.storageOffset = tensor.storageOffset;
    this.meta = {
      sizes: tensor.sizes,
      strides: tensor.strides,
      dtype: tensor.dtype,
      device: tensor.device,
    };
  }

  /** A FakeTensor of that layout. */
  unpack(): Tensor {
    const tensor = fakeFromMeta(this.meta);
    tensor.storageOffset = this.storageOffset;
    return tensor;
  }
}
