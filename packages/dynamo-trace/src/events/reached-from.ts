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
  /** Inputs of the segment, and leaves of `requiresGrad_()`, at which gradients arrive. */
  readonly leaves: Tensor[];
  /** Other leaves at which they do. */
  readonly ownLeaves: Tensor[];
  readonly historyBefore: boolean;
}

/** Where gradients of these values arrive. */
export function reachedFrom({ builder, frame }: Recorder, roots: readonly Tensor[]): Reached {
  const known = [...builder.inputSlots, ...builder.leaves.map(({ slot }) => slot)];
  const ours = roots.flatMap((root) => {
    const slot = frame.slotOf(root);
    return slot >= 0 && builder.has(slot) ? [builder.fake(slot)] : [];
  });
  const nodes = [...nodesBehind(ours)];
  const reached = new Set(
    nodes.flatMap((node) =>
      node instanceof AccumulateGrad ? (builder.slotOfFake(node.leaf) ?? []) : [],
    ),
  );
  const at = (slot: number): Tensor => frame.slots[slot]!;
  return {
    leaves: known.filter((slot) => reached.has(slot)).map(at),
    ownLeaves: [...reached].filter((slot) => !known.includes(slot)).map(at),
    historyBefore: nodes.some((node) => node instanceof ComputedBefore),
  };
}
