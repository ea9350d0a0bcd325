/**
 * @file Running a segment operator by operator: in the call that records it, and where compiled code would not do.
 *
 * At a graph break it is not yet known which values later code needs, so the recording call computes all of them;
 * compiled code, with exactly the needed outputs, is made when the call is over.
 */
import { GraphModule } from '@tessera/graph';
import { type Tensor } from '@tessera/tensor';
import { gradMode, show, withPreDispatchMode } from '@tessera/tensor/internal';
import type { Segment } from '../trace/segment.js';
import { settle } from '../trace/settle.js';
import type { Frame } from './frame.js';

/** Runs the segment's graph and gives every lazy tensor its value. */
export function runByOperator(segment: Segment, frame: Frame): void {
  const slots = [...segment.produced.keys()];
  const { graph } = segment;
  graph.outputNode?.graph.eraseNode(graph.outputNode);
  const output = graph.output(slots.map((slot) => segment.produced.get(slot)!));
  const inputs = segment.gather(frame);
  const saved = gradMode.enabled;
  try {
    const values = withPreDispatchMode(null, () => {
      gradMode.enabled = segment.startGradMode;
      return frame.execute(inputs, () => new GraphModule([], graph).forward(...inputs) as Tensor[]);
    });
    show(values);
    slots.forEach((slot, i) => {
      const lazy = frame.slots[slot];
      if (lazy?.isLazy === true)
        settle(lazy, values[i]!, segment.baseOf(slot, frame), segment.fakeOf(slot));
    });
  } finally {
    gradMode.enabled = saved;
    graph.eraseNode(output);
  }
  frame.segmentRan();
}
