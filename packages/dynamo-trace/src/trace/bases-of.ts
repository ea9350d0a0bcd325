/**
 * @file Which values of a segment are views of which.
 */
import type { Tensor } from '@tessera/tensor';
import type { Segment } from './segment.js';

/** Per value that is a view of another with a slot, that slot; null for what is no view. */
export function basesOf({ graph, inputs, produced }: Segment): Map<number, number | null> {
  const slots = new Map<unknown, number>();
  inputs.forEach(({ slot }, i) => slots.set(graph.nodes[i]!.meta.val, slot));
  for (const [slot, { meta }] of produced) slots.set(meta.val, slot);
  const bases = new Map<number, number | null>();
  for (const [slot, { meta }] of produced) {
    const { base } = meta.val as Tensor;
    const at = base === null ? null : slots.get(base);
    if (at !== undefined) bases.set(slot, at);
  }
  return bases;
}
