/**
 * @file Order of the stores of one stage: whoever reads an argument comes before the store that
 * overwrites it.
 */
import { type BodyStore, loadedBuffers } from './group-body.js';

/** The stores in an order in which none overwrites what a later one still reads; otherwise as given. */
export function orderStores(stores: readonly BodyStore[]): BodyStore[] {
  const overwriting = stores.filter((store) => store.buffer.kind === 'input');
  if (overwriting.length === 0) return [...stores];
  const reads = new Map(stores.map((store) => [store, loadedBuffers([store.value])]));
  const ordered = stores.filter((store) => store.buffer.kind !== 'input');
  const waiting = new Set(overwriting);
  // How many waiting stores, but the one that overwrites it, read each argument.
  const readers = new Map<string, number>();
  const count = (store: BodyStore, by: 1 | -1): void => {
    for (const name of reads.get(store)!)
      if (name !== store.buffer.name) readers.set(name, (readers.get(name) ?? 0) + by);
  };
  for (const store of waiting) count(store, 1);
  while (waiting.size > 0) {
    // The scheduler does not join mutations that read each other in a circle.
    const chosen = firstUnread(waiting, readers) ?? overwriting.find((s) => waiting.has(s))!;
    waiting.delete(chosen);
    count(chosen, -1);
    ordered.push(chosen);
  }
  return ordered;
}

function firstUnread(
  waiting: ReadonlySet<BodyStore>,
  readers: ReadonlyMap<string, number>,
): BodyStore | null {
  for (const store of waiting) if ((readers.get(store.buffer.name) ?? 0) === 0) return store;
  return null;
}
