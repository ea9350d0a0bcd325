/**
 * @file Running a segment op by op: in the call that captured it, and for values that compiled code left out.
 *
 * At a graph break it is not yet known which values later code needs, so the first call computes all
 * of them; compiled code, with exactly the needed outputs, is made when the call is over.
 */
import { GraphModule } from '@tessera/graph';
import { gradMode, show, type Tensor, withPreDispatchMode } from '@tessera/tensor';
import type { SegmentInput } from '../backend.js';
import type { Run } from './run.js';
import { type Segment, settle } from './segment.js';

/** Every value that the segment makes of `inputs`, by slot. */
export function evaluateSegment(
  segment: Segment,
  run: Run,
  inputs: readonly SegmentInput[],
): Map<number, Tensor> {
  const slots = [...segment.produced.keys()];
  const { graph } = segment;
  graph.outputNode?.graph.eraseNode(graph.outputNode);
  const output = graph.output(slots.map((slot) => segment.produced.get(slot)!));
  const saved = gradMode.enabled;
  try {
    const values = withPreDispatchMode(null, () => {
      gradMode.enabled = segment.startGradMode;
      return run.execute(inputs, () => new GraphModule([], graph).forward(...inputs) as Tensor[]);
    });
    return new Map(slots.map((slot, i) => [slot, values[i]!]));
  } finally {
    gradMode.enabled = saved;
    graph.eraseNode(output);
  }
}

/** Runs the segment's graph and gives every lazy tensor its value. */
export function runSegmentEagerly(segment: Segment, run: Run): void {
  for (const [slot, value] of evaluateSegment(segment, run, segment.gather(run))) {
    const lazy = run.slots[slot];
    show(value);
    if (lazy !== undefined && lazy.isLazy) settle(lazy, value, segment.baseOf(slot, run));
  }
}
