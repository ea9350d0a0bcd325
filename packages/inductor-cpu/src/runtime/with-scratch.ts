/**
 * @file Memory for the time of a call.
 */
import { cpuHeap } from '@tessera/tensor';

/** Runs with so many bytes of memory at an address. @throws out-of-memory */
export function withScratch(bytes: number, run: (at: number) => void): void {
  const heap = cpuHeap();
  const at = heap.alloc(bytes);
  try {
    run(at);
  } finally {
    heap.free(at);
  }
}
