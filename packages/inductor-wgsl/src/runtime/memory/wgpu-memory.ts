/**
 * @file `WgpuMemory`: the device memory behind a storage.
 *
 * A GPU buffer of its own, or a slot of a slab (`slab.ts`). The queue runs commands in order, so memory that
 * is freed may be handed out at once: its next user's commands come after its last user's. Only
 * `queue.writeBuffer` jumps ahead of commands that are recorded but not submitted, which `lastUse` lets the
 * command stream see.
 */
import type { TesseraError } from '@tessera/shared';
import type { BufferPool } from './buffer-pool.js';
import type { Slab } from './slab.js';

let nextId = 1;

/** Binding offsets are multiples of this many bytes, and so are the sizes and places of all memory. */
export const ALIGNMENT = 256;

/** See the file header. */
export class WgpuMemory {
  /** Unique among all memory ever made, and smaller the earlier it was made. */
  readonly id: number = nextId++;
  /** Which buffer this is or lies in: the id of the memory that is the whole buffer. Cache keys hold it. */
  readonly place: number;
  readonly buffer: GPUBuffer;
  /** Where it begins in the buffer, in bytes. */
  readonly start: number;
  /** Number of the submission that last used it. */
  lastUse = 0;
  freed = false;
  /** The pool's count of releases when it was freed last. */
  freedAt = 0;
  /** The buffer is gone for good. */
  destroyed = false;
  /** WebGPU has not said yet whether there was memory for it; see `BufferPool.unproven`. */
  isUnproven = false;
  /** There was no memory for it: what commands wrote there is nowhere. */
  failure: TesseraError | null = null;
  /** In the pool's list of free memory, where it stays while it is taken again by name. */
  listed = false;

  constructor(
    readonly pool: BufferPool,
    where: GPUBuffer | { readonly slab: Slab; readonly start: number },
    /** Capacity in bytes, a multiple of `ALIGNMENT`. */
    readonly bytes: number,
  ) {
    if ('slab' in where) {
      this.slab = where.slab;
      this.place = where.slab.whole.id;
      this.buffer = where.slab.whole.buffer;
      this.start = where.start;
    } else {
      this.slab = null;
      this.place = this.id;
      this.buffer = where;
      this.start = 0;
    }
  }

  /** The slab that this is a slot of. */
  readonly slab: Slab | null;
}
