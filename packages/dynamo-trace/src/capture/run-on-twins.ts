/**
 * @file Running an op on the twins of its arguments.
 */
import {
  type OpOverload,
  dispatchBelowPreDispatch,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor';

/** Runs an op on twins: nothing is computed. */
export function runOnTwins(op: OpOverload, args: readonly unknown[]): unknown {
  return withPreDispatchMode(null, () => withFakeTensors(() => dispatchBelowPreDispatch(op, args)));
}
