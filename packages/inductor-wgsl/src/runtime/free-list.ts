/**
 * @file `FreeList`: free memory of one size; the earliest made is handed out first.
 *
 * Whichever order memory is freed in, a loop that takes and frees the same sizes gets the same memory every
 * time round, so what is keyed by memory (bind groups) is found again. A stack or a queue would hand out
 * another permutation each time. A heap ordered by id, from which memory that was taken by name is
 * dropped when it comes up.
 */
import type { WgpuMemory } from './wgpu-memory.js';

/** See the file header. */
export class FreeList {
  private heap: WgpuMemory[] = [];

  /** Adds memory that was freed. */
  push(memory: WgpuMemory): void {
    // Taken by name meanwhile and freed again: it is still here.
    if (memory.listed) return;
    memory.listed = true;
    const { heap } = this;
    let at = heap.push(memory) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent].id <= memory.id) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = memory;
  }

  /** Takes the earliest made memory that is free. */
  pop(): WgpuMemory | undefined {
    for (;;) {
      const first = this.popFirst();
      if (first === undefined) return undefined;
      first.listed = false;
      if (first.freed) return first;
    }
  }

  /** Takes all that is free, in any order. */
  drain(): WgpuMemory[] {
    const all = this.heap;
    this.heap = [];
    for (const memory of all) memory.listed = false;
    return all.filter((memory) => memory.freed);
  }

  private popFirst(): WgpuMemory | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || last === first) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1].id < heap[child].id) child++;
      if (heap[child].id >= last.id) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
