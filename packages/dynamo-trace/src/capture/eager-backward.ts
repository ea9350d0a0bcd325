/**
 * @file A `backward()` that no graph can hold: the engine runs it, unrecorded.
 */
import { type BackwardCall, runBackward, withPreDispatchMode } from '@tessera/tensor';

/** Runs the engine; what it needs has been computed before. */
export function runBackwardEagerly(call: BackwardCall): void {
  withPreDispatchMode(null, () =>
    runBackward(call.tensors, call.gradTensors, {
      retainGraph: call.retainGraph,
      createGraph: call.createGraph,
      inputs: call.inputs,
      accumulate: true,
      allowUnused: true,
    }),
  );
}
