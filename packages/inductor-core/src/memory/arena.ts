/**
 * @file Packing live ranges into one block of memory.
 *
 * Greedy by start, best fit among the gaps that are free for the whole time; 64-byte alignment.
 */

/** A buffer of `bytes` that lives from kernel `first` to kernel `last`, inclusive. */
export interface Interval {
  readonly first: number;
  readonly last: number;
  readonly bytes: number;
}

/** Alignment of every offset, in bytes. */
export const ARENA_ALIGNMENT = 64;

interface Block {
  offset: number;
  bytes: number;
}

function aligned(bytes: number): number {
  return Math.max(Math.ceil(bytes / ARENA_ALIGNMENT), 1) * ARENA_ALIGNMENT;
}

/** Free blocks in address order. */
class FreeList {
  private readonly blocks: Block[] = [];
  top = 0;

  take(bytes: number): number {
    let best = -1;
    for (let i = 0; i < this.blocks.length; i++) {
      const size = this.blocks[i]!.bytes;
      if (size >= bytes && (best < 0 || size < this.blocks[best]!.bytes)) best = i;
    }
    if (best >= 0) {
      const block = this.blocks[best]!;
      const { offset } = block;
      block.offset += bytes;
      block.bytes -= bytes;
      if (block.bytes === 0) this.blocks.splice(best, 1);
      return offset;
    }
    // Grow from the last free block if it reaches the end.
    const last = this.blocks[this.blocks.length - 1];
    if (last !== undefined && last.offset + last.bytes === this.top) {
      this.blocks.pop();
      this.top = last.offset + bytes;
      return last.offset;
    }
    const offset = this.top;
    this.top += bytes;
    return offset;
  }

  give(offset: number, bytes: number): void {
    let i = this.blocks.findIndex((block) => block.offset > offset);
    if (i < 0) i = this.blocks.length;
    this.blocks.splice(i, 0, { offset, bytes });
    for (const at of [i, i - 1]) {
      const block = this.blocks[at];
      const next = this.blocks[at + 1];
      if (block !== undefined && next !== undefined && block.offset + block.bytes === next.offset) {
        block.bytes += next.bytes;
        this.blocks.splice(at + 1, 1);
      }
    }
  }
}

/**
 * In which order intervals come and go: numbers of those that come, counted from one, and of those that go, negative. Of
 * those that begin together the larger ones come first.
 */
export function packingOrder(intervals: readonly Interval[]): readonly number[] {
  const order = intervals
    .map((_, i) => i)
    .sort(
      (a, b) =>
        intervals[a]!.first - intervals[b]!.first || intervals[b]!.bytes - intervals[a]!.bytes,
    );
  const byEnd = [...order].sort((a, b) => intervals[a]!.last - intervals[b]!.last);
  const events: number[] = [];
  let ended = 0;
  for (const i of order) {
    for (; ended < byEnd.length && intervals[byEnd[ended]!]!.last < intervals[i]!.first; ended++)
      events.push(-1 - byEnd[ended]!);
    events.push(1 + i);
  }
  return events;
}

/** Offsets of intervals of so many bytes such that none that live together overlap, and the total size in bytes. */
export function packInOrder(
  order: readonly number[],
  bytes: readonly number[],
): { readonly offsets: readonly number[]; readonly total: number } {
  const offsets = bytes.map(() => 0);
  const free = new FreeList();
  for (let k = 0; k < order.length; k++) {
    const i = Math.abs(order[k]!) - 1;
    const size = aligned(bytes[i]!);
    if (order[k]! > 0) offsets[i] = free.take(size);
    else free.give(offsets[i]!, size);
  }
  return { offsets, total: free.top };
}
