/**
 * @file A priority queue of backward nodes, highest sequence number first.
 */
import type { GradNode } from './grad-node.js';

/** Binary max-heap on `sequenceNr`. */
export class NodeQueue {
  private readonly heap: GradNode[] = [];

  push(node: GradNode): void {
    const heap = this.heap;
    let i = heap.push(node) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (heap[parent]!.sequenceNr >= node.sequenceNr) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = node;
  }

  /** Removes and returns the node that was created last, or null. */
  pop(): GradNode | null {
    const heap = this.heap;
    const top = heap[0];
    if (top === undefined) return null;
    const last = heap.pop()!;
    const size = heap.length;
    let i = 0;
    while (size > 0) {
      const left = 2 * i + 1;
      if (left >= size) break;
      const child =
        left + 1 < size && heap[left + 1]!.sequenceNr > heap[left]!.sequenceNr ? left + 1 : left;
      if (heap[child]!.sequenceNr <= last.sequenceNr) break;
      heap[i] = heap[child]!;
      i = child;
    }
    if (size > 0) heap[i] = last;
    return top;
  }
}
