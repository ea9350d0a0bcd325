/**
 * @file `PriorityQueue`: a binary heap, which gives its first item whatever the order they came in.
 */

/** See the file header. */
export class PriorityQueue<T> {
  private items: T[] = [];

  /** @param isBefore whether one item comes out before another */
  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  /** Puts an item in. */
  push(item: T): void {
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(item, items[parent]!)) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }

  /** Takes the first item; undefined when there is none. */
  pop(): T | undefined {
    const { items } = this;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.isBefore(items[child + 1]!, items[child]!)) child++;
      if (!this.isBefore(items[child]!, last)) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
    return first;
  }

  /** Takes all items, in any order. */
  drain(): T[] {
    const all = this.items;
    this.items = [];
    return all;
  }
}
