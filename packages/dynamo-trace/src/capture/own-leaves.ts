/**
 * @file Leaves that the program made itself, in the segment that is recorded.
 *
 * A recorded `backward()` gives gradients to inputs of its graph only. One that leads to such a leaf too is run
 * by the engine, over a graph that is cut behind the leaf.
 */
import { AccumulateGrad, type GradNode, type Tensor, gradEdge } from '@tessera/tensor';
import type { Capture } from './capture.js';

/** The leaves, other than inputs of the segment, at which gradients of these values arrive. */
export function ownLeaves({ builder, run }: Capture, roots: readonly Tensor[]): Tensor[] {
  const inputs = new Set(builder.inputSlots);
  const leaves = new Set<number>();
  const seen = new Set<GradNode>();
  const stack = roots.flatMap(({ traceOwner, traceSlot: slot }) =>
    traceOwner === run.id && builder.has(slot) ? (gradEdge(builder.twin(slot))?.node ?? []) : [],
  );
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    const slot = node instanceof AccumulateGrad ? builder.slotOfTwin(node.leaf) : undefined;
    if (slot !== undefined && !inputs.has(slot)) leaves.add(slot);
    for (const edge of node.nextEdges) if (edge !== null) stack.push(edge.node);
  }
  return [...leaves].map((slot) => run.slots[slot]!);
}
