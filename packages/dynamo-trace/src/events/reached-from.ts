/**
 * @file Where a `backward()` in the segment that is recorded leads: to leaves that the program made itself, or to
 * history from before the segment.
 *
 * A recorded `backward()` gives gradients to inputs of its graph only. One that leads elsewhere too is run by the
 * engine, over a graph that is cut behind such leaves. What is only detached from history does not lead there.
 */
import { type GradNode, type Tensor } from '@tessera/tensor';
import { AccumulateGrad, gradEdge } from '@tessera/tensor/internal';
import type { Recorder } from '../cursor/recorder.js';
import { ComputedBefore } from '../cursor/segment-builder.js';

/** See the file header. */
export interface Reached {
  /** The leaves, other than inputs of the segment and those of `requiresGrad_()`, at which gradients arrive. */
  readonly ownLeaves: Tensor[];
  readonly historyBefore: boolean;
}

/** Where gradients of these values arrive. */
export function reachedFrom({ builder, frame }: Recorder, roots: readonly Tensor[]): Reached {
  const inputs = new Set([...builder.inputSlots, ...builder.leaves.map(({ slot }) => slot)]);
  const leaves = new Set<number>();
  const seen = new Set<GradNode>();
  let historyBefore = false;
  const stack = roots.flatMap((root) => {
    const slot = frame.slotOf(root);
    return slot >= 0 && builder.has(slot) ? (gradEdge(builder.fake(slot))?.node ?? []) : [];
  });
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    historyBefore ||= node instanceof ComputedBefore;
    const slot = node instanceof AccumulateGrad ? builder.slotOfFake(node.leaf) : undefined;
    if (slot !== undefined && !inputs.has(slot)) leaves.add(slot);
    for (const edge of node.nextEdges) if (edge !== null) stack.push(edge.node);
  }
  return { ownLeaves: [...leaves].map((slot) => frame.slots[slot]!), historyBefore };
}
