/**
 * @file `FreeList`: free memory of one size; the earliest made is handed out first.
 *
 * Whichever order memory is freed in, a loop that takes and frees the same sizes gets the same memory every
 * time round, so what is keyed by memory (bind groups) is found again. A stack or a queue would hand out
 * another permutation each time. Memory that was taken by name is dropped when it comes up.
 */
import { PriorityQueue } from '@tessera/shared';
import type { WgpuMemory } from './wgpu-memory.js';

/** See the file header. */
export class FreeList {
  private readonly queue = new PriorityQueue<WgpuMemory>((a, b) => a.id < b.id);

  /** Adds memory that was freed. */
  push(memory: WgpuMemory): void {
    // Taken by name meanwhile and freed again: it is still here.
    if (memory.listed) return;
    memory.listed = true;
    this.queue.push(memory);
  }

  /** Takes the earliest made memory that is free. */
  pop(): WgpuMemory | undefined {
    for (;;) {
      const first = this.queue.pop();
      if (first === undefined) return undefined;
      first.listed = false;
      if (first.freed) return first;
    }
  }

  /** Takes all that is free, in any order. */
  drain(): WgpuMemory[] {
    const all = this.queue.drain();
    for (const memory of all) memory.listed = false;
    return all.filter((memory) => memory.freed);
  }
}
