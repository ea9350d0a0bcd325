/**
 * @file `TensorBase`: the data of a tensor, without its methods.
 *
 * A tensor is (storage, sizes, strides, offset, dtype) plus autograd metadata. The methods that people
 * call live on `Tensor` (tensor.ts), which extends this class with the operator functions; splitting
 * them keeps the module graph free of cycles: operators depend on this file, `Tensor` depends on them.
 *
 * A tensor may be *lazy*: a compiled function recorded the op that makes it but has not run it yet.
 * Then `storageOrNull` is null and reading `storage` asks `pending` to resolve it.
 */
import { TesseraError } from '@tessera/shared';
import type { AutogradMeta } from './autograd/autograd-meta.js';
import type { DeviceType } from './device.js';
import type { DType } from './dtype.js';
import { NOT_CLONEABLE } from './not-cloneable.js';
import { outsideScopes } from './memory/library-scope.js';
import { madeTensors } from './memory/made-tensors.js';
import type { Storage } from './memory/storage.js';
import type { Tensor } from './tensor.js';

/** See `TensorBase.madeAs`: one of several results, under `noGrad`, in inference mode. */
export type MadeAs = 'multiple' | 'no_grad' | 'inference' | null;

/** Whoever owes a lazy tensor its storage. `resolve` must give it one (`setStorage`) or throw. */
export interface PendingValue {
  resolve(tensor: TensorBase): void;
}

/**
 * See the file header. Sizes, strides and offset are in elements.
 *
 * Fields are declared only: the constructor sets each once. Defining them first would double what a tensor costs.
 */
export class TensorBase {
  /** The first field, so that `structuredClone` meets it before all others. @internal */
  declare readonly notCloneable: () => string;
  /** Type of the elements. */
  declare dtype: DType;
  /** Where the memory is. */
  declare device: DeviceType;
  /** Size of each dimension; also `shape`. */
  declare sizes: readonly number[];
  /** Steps between neighbours of each dimension, in elements. */
  declare strides: readonly number[];
  /** Where the first element is in the storage, in elements. */
  declare storageOffset: number;
  /** Null while lazy. Prefer `storage`. */
  declare storageOrNull: Storage | null;
  /** Who owes a lazy tensor its storage. @internal */
  declare pending: PendingValue | null;
  /** The user-settable flag of a leaf, or inherited from inputs; see `requiresGrad`. @internal */
  declare requiresGradFlag: boolean;
  /** Gradient, gradFn, hooks; null until needed. */
  declare autograd: AutogradMeta | null;
  /** The tensor this one is a view of (never itself a view), or null. */
  declare base: Tensor | null;
  /** How a view was made that has no history which could follow writes to its memory; null for others. @internal */
  declare madeAs: MadeAs;
  /** Free slot for a tracer: what this value is in the current trace. @internal */
  declare traceSlot: number;
  /** Number of the traced call that `traceSlot` belongs to; 0 for none. @internal */
  declare traceOwner: number;
  /** Interned layout descriptor used by guards; null when not yet computed or stale. @internal */
  declare guardSpec: object | null;

  constructor(
    storage: Storage | null,
    dtype: DType,
    device: DeviceType,
    sizes: readonly number[],
    strides: readonly number[],
    storageOffset: number,
  ) {
    this.notCloneable = NOT_CLONEABLE;
    this.dtype = dtype;
    this.device = device;
    this.sizes = sizes;
    this.strides = strides;
    this.storageOffset = storageOffset;
    this.storageOrNull = storage;
    this.pending = null;
    this.requiresGradFlag = false;
    this.autograd = null;
    this.base = null;
    this.madeAs = null;
    this.traceSlot = -1;
    this.traceOwner = 0;
    this.guardSpec = null;
    madeTensors.list?.push(this);
  }

  /** The memory behind this tensor; resolves a lazy tensor. */
  get storage(): Storage {
    if (this.storageOrNull === null) this.resolvePending();
    return this.storageOrNull!;
  }

  /** Gives a lazy tensor its memory, or moves a tensor to other memory. */
  setStorage(storage: Storage, storageOffset: number = this.storageOffset): void {
    this.storageOrNull = storage;
    this.storageOffset = storageOffset;
    this.pending = null;
  }

  /** Makes a lazy tensor have its storage. */
  private resolvePending(): void {
    const pending = this.pending;
    // Whatever that computes is not memory of the library code that asks.
    if (pending !== null) outsideScopes(() => pending.resolve(this));
    if (this.storageOrNull === null) {
      throw new TesseraError(
        'trace-escape',
        'This tensor was never computed: it left a compiled function without being one of its results.',
        {
          hints: ['Return it from the compiled function.'],
        },
      );
    }
  }

  /** Number of dimensions. */
  get ndim(): number {
    return this.sizes.length;
  }

  /** Sizes as plain numbers. */
  get shape(): readonly number[] {
    return this.sizes;
  }

  /** Number of elements. */
  get numel(): number {
    let n = 1;
    for (const size of this.sizes) n *= size;
    return n;
  }

  /** Whether this is a FakeTensor: metadata without values. */
  get isFake(): boolean {
    return this.storageOrNull !== null && this.storageOrNull.state === 'fake';
  }

  /** Whether the values are not computed yet. */
  get isLazy(): boolean {
    return this.storageOrNull === null;
  }
}
