/**
 * @file Where a `backward()` in the segment that is recorded leads: to leaves that the program made itself, or to
 * history from before the segment.
 *
 * A recorded `backward()` gives gradients to inputs of its graph only. One that leads elsewhere too is run by the
 * engine, over a graph that is cut behind such leaves. What is only detached from history does not lead there.
 */
import type { Tensor } from '@tessera/tensor';
import { AccumulateGrad, nodesBehind } from '@tessera/tensor/internal';
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
  const ours = roots.flatMap((root) => {
    const slot = frame.slotOf(root);
    return slot >= 0 && builder.has(slot) ? [builder.fake(slot)] : [];
  });
  const nodes = [...nodesBehind(ours)];
  const ownLeaves = nodes.flatMap((node) => {
    const slot = node instanceof AccumulateGrad ? builder.slotOfFake(node.leaf) : undefined;
    return slot === undefined || inputs.has(slot) ? [] : [frame.slots[slot]!];
  });
  return { ownLeaves, historyBefore: nodes.some((node) => node instanceof ComputedBefore) };
}
