/**
 * @file `Storage`: the memory behind one or more tensors.
 *
 * A storage belongs to one device. Views share it, and with it the version counter that autograd
 * checks. A *fake* storage has no memory: it stands for one during tracing, and its identity carries
 * aliasing. CPU memory is returned to the heap by `release()`, or by the reclaimer once the storage is
 * unreachable.
 */
import { TesseraError } from '@tessera/shared';
import { type DeviceMemory, type DeviceType, deviceRuntime } from '../device.js';
import { modes } from '../dispatch/modes.js';
import { cpuHeap } from '../heap/cpu-heap.js';
import { type LibraryScope, libraryScopes, outsideScopes } from './library-scope.js';
import { Snapshot, type SnapshotBudget } from './snapshot.js';
import { trackAllocation, untrackAllocation, type Allocation } from './reclaim.js';

/** State of a storage: `fake` has no memory, `released` had. */
export type StorageState = 'real' | 'fake' | 'released';

/** Somebody who may need the contents of a memory after it has changed. */
export interface StorageKeeper {
  /** The memory is about to be written, or a tensor on it to be laid out anew. */
  beforeChange(storage: Storage): void;
}

/** Number of storages made so far. */
let allocations = 0;

/** See `Storage.serial`. */
export function allocationCount(): number {
  return allocations;
}

/** Runs `make`; what it allocates is older than every scope, open or not. */
export function beforeAllScopes<R>(make: () => R): R {
  const count = allocations;
  allocations = -Infinity;
  try {
    return make();
  } finally {
    allocations = count;
  }
}

/** See the file header. */
export class Storage {
  readonly device: DeviceType;
  /** Size in bytes on the device. */
  readonly nbytes: number;
  /** Byte address in the CPU heap; -1 on other devices and for fake storages. */
  ptr: number;
  /** Memory object on other devices; null on cpu and for fake storages. */
  memory: DeviceMemory | null;
  state: StorageState;
  /** Storages are numbered in the order in which they are made, from 1; -Infinity if made for later. */
  readonly serial: number = ++allocations;
  /** Number of mutations so far, shared by all views. */
  version = 0;
  /** Whether a tensor of inference mode was made with this memory. */
  isInference = false;
  /** Dtype and sizes of the tensor that the memory was allocated for, for messages; null if unknown. */
  madeForDtype: string | null = null;
  madeForSizes: readonly number[] | null = null;
  /** The library code that made the memory for itself and has not finished; else null. */
  scope: LibraryScope | null = null;
  /** Whether the program was given a tensor on memory that the library made for itself. */
  shown = false;
  /** Number of the input of a call that it was last met as; see `sameSharing` of the tracer. */
  met = -1;
  private allocation: Allocation | null = null;
  /** Whoever wants the present contents later; null if nobody does. */
  private taken: Snapshot | null = null;
  /** Those that use the memory beside the program; it is freed when the last has let go. */
  private holds = 0;
  private keepers: WeakRef<StorageKeeper>[] | null = null;
  private keeperLimit = 16;
  /** What use of a withdrawn storage throws; see `withdrawn`. */
  private reason: ((what: string) => TesseraError) | null = null;

  private constructor(device: DeviceType, nbytes: number, state: StorageState) {
    this.device = device;
    this.nbytes = nbytes;
    this.state = state;
    this.ptr = -1;
    this.memory = null;
  }

  /** Allocates uninitialised memory. @throws out-of-memory, device-unavailable */
  static allocate(device: DeviceType, nbytes: number): Storage {
    const storage = new Storage(device, nbytes, 'real');
    if (device === 'cpu') {
      storage.ptr = cpuHeap().alloc(nbytes);
    } else {
      storage.memory = deviceRuntime(device).allocate(nbytes);
    }
    storage.allocation = trackAllocation(storage);
    libraryScopes.open?.add(storage);
    return storage;
  }

  /** A storage over memory of a device other than `cpu`, which it owns from now on. */
  static adopt(device: DeviceType, nbytes: number, memory: DeviceMemory): Storage {
    const storage = new Storage(device, nbytes, 'real');
    storage.memory = memory;
    storage.allocation = trackAllocation(storage);
    return storage;
  }

  /** A storage over CPU heap memory that somebody else owns and keeps alive; releasing it frees nothing. */
  static borrow(ptr: number, nbytes: number): Storage {
    const storage = new Storage('cpu', nbytes, 'real');
    storage.ptr = ptr;
    return storage;
  }

  /** A storage without memory, for tracing. */
  static fake(device: DeviceType, nbytes: number): Storage {
    return new Storage(device, nbytes, 'fake');
  }

  /** A storage whose memory was taken away: every access throws what `reason` says. */
  static withdrawn(
    device: DeviceType,
    nbytes: number,
    reason: (what: string) => TesseraError,
  ): Storage {
    const storage = new Storage(device, nbytes, 'released');
    storage.reason = reason;
    return storage;
  }

  /** Whether this is a storage made by `withdrawn`. */
  get isWithdrawn(): boolean {
    return this.reason !== null;
  }

  /** The present contents, for later; copied before they change if `budget` allows it. */
  snapshot(budget: SnapshotBudget): Snapshot {
    return (this.taken ??= new Snapshot(budget));
  }

  /** The contents are about to change: copies them for whoever took a snapshot or keeps them. */
  keepContents(): void {
    this.tellKeepers();
    this.keepSnapshot();
  }

  private keepSnapshot(): void {
    const { taken } = this;
    if (taken === null) return;
    this.taken = null;
    taken.state = 'lost';
    if (this.state !== 'real' || this.nbytes > taken.budget.left) return;
    taken.budget.left -= this.nbytes;
    taken.copy = this.clone();
    taken.state = 'kept';
  }

  /** A new storage with the same contents. @throws out-of-memory */
  clone(): Storage {
    const copy = outsideScopes(() => Storage.allocate(this.device, this.nbytes));
    if (this.device === 'cpu') cpuHeap().u8.copyWithin(copy.ptr, this.ptr, this.ptr + this.nbytes);
    else deviceRuntime(this.device).copy(this.memory!, 0, copy.memory!, 0, this.nbytes);
    return copy;
  }

  /** Notes somebody who copies the contents before they change; held weakly, told once. */
  addKeeper(keeper: StorageKeeper): void {
    this.keepers ??= [];
    // Those that are gone are dropped whenever the list has doubled.
    if (this.keepers.length >= this.keeperLimit) {
      this.keepers = this.keepers.filter((ref) => ref.deref() !== undefined);
      this.keeperLimit = Math.max(16, 2 * this.keepers.length);
    }
    this.keepers.push(new WeakRef(keeper));
  }

  /** To be called by whoever is about to lay out a tensor on this memory anew. */
  tellKeepers(): void {
    if (this.keepers === null) return;
    const keepers = this.keepers;
    this.keepers = null;
    outsideScopes(() => {
      for (const ref of keepers) ref.deref()?.beforeChange(this);
    });
  }

  /** Frees the memory now; later use is an error. Releasing twice is harmless. */
  release(): void {
    if (this.state !== 'real') return;
    this.announce(true);
    this.free();
  }

  /**
   * Keeps the memory, whatever becomes of the tensors on it, until the result is called: something beside the
   * program (a transfer) reads or writes it.
   */
  hold(): () => void {
    this.holds++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (--this.holds === 0 && this.state === 'released') this.giveBack();
    };
  }

  /** `release`, of memory that no tracer has recorded anything on. */
  free(): void {
    if (this.state !== 'real') return;
    this.keepSnapshot();
    this.state = 'released';
    if (this.holds === 0) this.giveBack();
  }

  /** Returns the memory to its device. */
  private giveBack(): void {
    if (this.allocation !== null) {
      untrackAllocation(this.allocation);
      this.allocation = null;
      if (this.device === 'cpu') cpuHeap().free(this.ptr);
      else if (this.memory !== null) deviceRuntime(this.device).free(this.memory);
    }
    this.ptr = -1;
    this.memory = null;
  }

  /** Tells tracers that the memory is about to be read, or written. */
  private announce(writes: boolean): void {
    modes.pre?.onAccess?.(this, writes);
    modes.suspended?.onAccess(this, writes);
  }

  /** Asserts that memory is there, to be read or written. @throws use-after-dispose, fake-data-access */
  assertReadable(what: string, writes = false): void {
    if (this.state === 'real') {
      this.announce(writes);
      return;
    }
    if (this.reason !== null) throw this.reason(what);
    if (this.state === 'released') {
      throw new TesseraError(
        'use-after-dispose',
        `${what}: this tensor's memory was released by dispose(), using or tidy().`,
        {
          hints: ['Dispose after the last use; tidy() keeps what it returns.'],
        },
      );
    }
    throw new TesseraError(
      'fake-data-access',
      `Cannot access data pointer of Tensor (e.g. FakeTensor): ${what}.`,
      {
        hints: ['Register a meta rule.'],
      },
    );
  }
}
