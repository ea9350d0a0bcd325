/**
 * @file Order of the stores of one stage: whoever reads an argument comes before the store that
 * overwrites it.
 */
import { type BodyStore, loadedBuffers } from './kernel-body.js';

/** The stores in an order in which none overwrites what a later one still reads; otherwise as given. */
export function orderStores(stores: readonly BodyStore[]): BodyStore[] {
  const overwriting = stores.filter((store) => store.buffer.kind === 'input');
  if (overwriting.length === 0) return [...stores];
  const reads = new Map(stores.map((store) => [store, loadedBuffers([store.value])]));
  const ordered = stores.filter((store) => store.buffer.kind !== 'input');
  const waiting = new Set(overwriting);
  while (waiting.size > 0) {
    const next = [...waiting].find((store) =>
      [...waiting].every((other) => other === store || !reads.get(other)!.has(store.buffer.name)),
    );
    // The scheduler does not join mutations that read each other in a circle.
    const chosen = next ?? [...waiting][0]!;
    waiting.delete(chosen);
    ordered.push(chosen);
  }
  return ordered;
}
