/**
 * @file Running a segment operator by operator: in the call that records it, and where compiled code would not do.
 *
 * At a graph break it is not yet known which values later code needs, so the recording call computes all of them;
 * compiled code, with exactly the needed outputs, is made when the call is over.
 */
import { type Tensor } from '@tessera/tensor';
import { show } from '@tessera/tensor/internal';
import { asRecorded } from '../trace/as-recorded.js';
import type { Segment } from '../trace/segment.js';
import type { Frame } from './frame.js';

/** Runs the segment's graph and gives every lazy tensor its value. */
export function runByOperator(segment: Segment, frame: Frame): void {
  const slots = [...segment.produced.keys()];
  const module = segment.returning(slots);
  const inputs = segment.gather(frame);
  try {
    const values = asRecorded(segment.startGradMode, () =>
      frame.execute(inputs, () => module.forward(...inputs) as Tensor[]),
    );
    show(values);
    slots.forEach((slot, i) => segment.give(frame, slot, values[i]!));
  } finally {
    // What is returned for now is no use of a value.
    segment.graph.eraseNode(segment.graph.outputNode!);
  }
  frame.segmentRan();
}
