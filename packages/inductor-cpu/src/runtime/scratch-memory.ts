/**
 * @file Scratch memory of one thread, shared by all plans: only one kernel runs on a thread at a time.
 */
import { cpuHeap } from '@tessera/tensor';

/** A block that plans use; freed when it has been outgrown and the last of them is gone. */
export interface ScratchBlock {
  readonly ptr: number;
  readonly bytes: number;
  users: number;
}

/** See the file header. */
export class ScratchMemory {
  #current: ScratchBlock | null = null;

  /** A block of at least `bytes`; the caller must release it. */
  acquire(bytes: number): ScratchBlock {
    if (this.#current === null || this.#current.bytes < bytes) {
      const outgrown = this.#current;
      const size = Math.max(bytes, (outgrown?.bytes ?? 0) * 1.5);
      this.#current = { ptr: cpuHeap().alloc(size), bytes: size, users: 0 };
      if (outgrown?.users === 0) cpuHeap().free(outgrown.ptr);
    }
    this.#current.users++;
    return this.#current;
  }

  release(block: ScratchBlock): void {
    block.users--;
    if (block.users === 0 && block !== this.#current) cpuHeap().free(block.ptr);
  }
}
