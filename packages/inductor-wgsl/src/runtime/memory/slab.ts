/**
 * @file `Slab`: one GPU buffer cut into slots for results of a few bytes, such as a loss.
 *
 * A program that holds every loss would otherwise cost a buffer and bind groups a step. Slots are bound with
 * dynamic offsets, so a bind group serves all slots of a slab. A slab belongs to one output of one plan:
 * WebGPU does not let a kernel read one part of a buffer and write another through two bindings, and so a
 * kernel seldom has to.
 */
import type { BufferPool } from './buffer-pool.js';
import { ALIGNMENT, WgpuMemory } from './wgpu-memory.js';

/** Bytes of a slot: the least that a dynamic offset may step by. */
export const SLOT_BYTES: number = ALIGNMENT;

/** See the file header. */
export class Slab {
  /** The buffer that slots lie in. */
  readonly whole: WgpuMemory;
  private readonly free: WgpuMemory[] = [];
  private made = 0;
  private closed = false;

  /** @throws out-of-memory */
  constructor(
    private readonly pool: BufferPool,
    readonly slots: number,
  ) {
    this.whole = pool.allocate(slots * SLOT_BYTES);
  }

  /** A free slot, or null. */
  take(): WgpuMemory | null {
    const reused = this.free.pop();
    if (reused !== undefined) {
      reused.freed = false;
      return reused;
    }
    if (this.made === this.slots) return null;
    const start = this.made++ * SLOT_BYTES;
    return new WgpuMemory(this.pool, { slab: this, start }, SLOT_BYTES);
  }

  /** Takes a slot back. */
  release(slot: WgpuMemory): void {
    this.free.push(slot);
    this.settle();
  }

  /** No slot will be asked for any more: the buffer goes when the last one is back. */
  close(): void {
    this.closed = true;
    this.settle();
  }

  private settle(): void {
    if (this.closed && this.free.length === this.made) this.pool.release(this.whole);
  }
}
