/**
 * @file Page runs: the lower half of the CPU heap, which hands out runs of 4 KiB pages.
 *
 * Free runs never touch each other (neighbours are merged) and hang in one list per power of two of
 * their length; the first and the last page of a free run record its length, so that merging takes
 * constant time (boundary tags, as in Knuth's algorithm 2.5 C). All bookkeeping lives outside the
 * WebAssembly memory: a kernel that writes out of bounds cannot corrupt it.
 */

const NONE = -1;
const LISTS = 21;

/** Free runs of pages of a memory that grows at its end. */
export class PageRuns {
  /** Length of the free run that starts or ends at a page; 0 on pages in use. */
  private length = new Int32Array(0);
  private next = new Int32Array(0);
  private previous = new Int32Array(0);
  private readonly heads = new Int32Array(LISTS).fill(NONE);
  /** Free pages over all runs. */
  freePages = 0;

  /** Adds the pages up to `pageCount` as free. */
  grow(from: number, pageCount: number): void {
    this.length = enlarged(this.length, pageCount);
    this.next = enlarged(this.next, pageCount);
    this.previous = enlarged(this.previous, pageCount);
    this.release(from, pageCount - from);
  }

  /** First page of a run of `pages`, or -1. Takes from the shortest list that has one. */
  take(pages: number): number {
    for (let list = listOf(pages); list < LISTS; list++) {
      for (let run = this.heads[list]; run !== NONE; run = this.next[run]) {
        const length = this.length[run];
        if (length < pages) continue;
        this.unlink(run);
        this.length[run + length - 1] = 0;
        this.length[run] = 0;
        if (length > pages) this.link(run + pages, length - pages);
        this.freePages -= pages;
        return run;
      }
    }
    return NONE;
  }

  /** Returns a run, merging it with its free neighbours. */
  release(page: number, pages: number): void {
    this.freePages += pages;
    let start = page;
    let length = pages;
    const before = page > 0 ? this.length[page - 1] : 0;
    if (before > 0) {
      start = page - before;
      length += before;
      this.unlink(start);
      this.length[page - 1] = 0;
    }
    const end = page + pages;
    const after = end < this.length.length ? this.length[end] : 0;
    if (after > 0) {
      length += after;
      this.unlink(end);
      this.length[end] = 0;
    }
    this.link(start, length);
  }

  private link(run: number, length: number): void {
    this.length[run] = length;
    this.length[run + length - 1] = length;
    const list = listOf(length);
    const head = this.heads[list];
    this.next[run] = head;
    this.previous[run] = NONE;
    if (head !== NONE) this.previous[head] = run;
    this.heads[list] = run;
  }

  private unlink(run: number): void {
    const next = this.next[run];
    const previous = this.previous[run];
    if (next !== NONE) this.previous[next] = previous;
    if (previous !== NONE) this.next[previous] = next;
    else this.heads[listOf(this.length[run])] = next;
  }
}

/** Runs of 2ⁿ … 2ⁿ⁺¹-1 pages are in list n. */
function listOf(length: number): number {
  return 31 - Math.clz32(length);
}

/** A copy of `array` with at least `length` elements; capacity doubles so that growth stays linear overall. */
function enlarged(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  if (array.length >= length) return array;
  const copy = new Int32Array(Math.max(length, array.length * 2));
  copy.set(array);
  return copy;
}
