/**
 * @file `KnownNumbers`: the values of small initialisers, for those that decide shapes, axes and counts.
 *
 * A traced call cannot read a tensor without ending its graph, and a device cannot be read without waiting, so the
 * numbers are kept here. They are the tensor's only as long as nobody has written to its memory: each entry says which
 * memory it was read from, and at which version. On the CPU a stale entry is read again; on another device the numbers
 * are then unknown, and who needs them waits for them.
 */
import type { Storage, Tensor } from '@tessera/tensor';
import { type HostArray, fitsHost, readHost } from './run/host-array.js';
import { settleWrites } from './run/writes.js';

interface Entry {
  readonly numbers: HostArray;
  readonly storage: Storage;
  readonly version: number;
}

/** See the file header. */
export class KnownNumbers {
  private readonly entries = new WeakMap<Tensor, Entry>();

  /** The numbers of a tensor as they are now; undefined if they are many, or on another device and not known. */
  of(tensor: Tensor): HostArray | undefined {
    if (!fitsHost(tensor.shape)) return undefined;
    settleWrites(tensor);
    const { storage } = tensor;
    const entry = this.entries.get(tensor);
    if (entry?.storage === storage && entry.version === storage.version) return entry.numbers;
    if (tensor.device !== 'cpu') return undefined;
    const numbers = readHost(tensor);
    this.note(tensor, numbers);
    return numbers;
  }

  /** Whether the numbers of a tensor were known once. */
  has(tensor: Tensor): boolean {
    return this.entries.has(tensor);
  }

  /** Says what a tensor holds, for one that cannot be read here. */
  note(tensor: Tensor, numbers: HostArray): void {
    const { storage } = tensor;
    this.entries.set(tensor, { numbers, storage, version: storage.version });
  }
}
