/**
 * @file Running a captured segment eagerly, in the call that captured it.
 *
 * At a graph break it is not yet known which values later code needs, so the first call computes all
 * of them, op by op; compiled code, with exactly the needed outputs, is made when the call is over.
 */
import { GraphModule } from '@tessera/graph';
import { gradMode, type Tensor, withPreDispatchMode } from '@tessera/tensor';
import type { Run } from '../trace/run.js';
import { type Segment, settle } from '../trace/segment.js';

/** Runs the segment's graph and gives every lazy tensor its value. */
export function runSegmentEagerly(segment: Segment, run: Run): void {
  const slots = [...segment.produced.keys()];
  const output = segment.graph.output(slots.map((slot) => segment.produced.get(slot)!));
  const saved = gradMode.enabled;
  try {
    const values = withPreDispatchMode(null, () => {
      gradMode.enabled = segment.startGradMode;
      const inputs = segment.gather(run);
      return run.execute(
        inputs,
        () => new GraphModule([], segment.graph).forward(...inputs) as Tensor[],
      );
    });
    slots.forEach((slot, i) => {
      const lazy = run.slots[slot];
      if (lazy !== undefined && lazy.isLazy) settle(lazy, values[i]!);
    });
  } finally {
    gradMode.enabled = saved;
    segment.graph.eraseNode(output);
  }
}
