/**
 * @file A `backward()` that no graph can hold: the engine runs it, unrecorded.
 */
import { type BackwardCall, backwardOutsideGraph, withPreDispatchMode } from '@tessera/tensor';

/** Runs the engine; what it needs has been computed before. */
export function runBackwardEagerly(call: BackwardCall): void {
  withPreDispatchMode(null, () => backwardOutsideGraph(call));
}
