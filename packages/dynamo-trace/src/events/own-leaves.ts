/**
 * @file Leaves that the program made itself, in the segment that is recorded.
 *
 * A recorded `backward()` gives gradients to inputs of its graph only. One that leads to such a leaf too is run
 * by the engine, over a graph that is cut behind the leaf.
 */
import { type GradNode, type Tensor } from '@tessera/tensor';
import { AccumulateGrad, gradEdge } from '@tessera/tensor/internal';
import type { Recorder } from '../cursor/recorder.js';

/** The leaves, other than inputs of the segment, at which gradients of these values arrive. */
export function ownLeaves({ builder, frame }: Recorder, roots: readonly Tensor[]): Tensor[] {
  const inputs = new Set(builder.inputSlots);
  const leaves = new Set<number>();
  const seen = new Set<GradNode>();
  const stack = roots.flatMap((root) => {
    const slot = frame.slotOf(root);
    return slot >= 0 && builder.has(slot) ? (gradEdge(builder.fake(slot))?.node ?? []) : [];
  });
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    const slot = node instanceof AccumulateGrad ? builder.slotOfFake(node.leaf) : undefined;
    if (slot !== undefined && !inputs.has(slot)) leaves.add(slot);
    for (const edge of node.nextEdges) if (edge !== null) stack.push(edge.node);
  }
  return [...leaves].map((slot) => frame.slots[slot]!);
}
