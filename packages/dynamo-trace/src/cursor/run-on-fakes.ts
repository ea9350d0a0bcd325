/**
 * @file Running an op on the fake tensors that stand for its arguments.
 */
import { type OpOverload } from '@tessera/tensor';
import {
  dispatchBelowPreDispatch,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor/internal';

/** Runs an op on fake tensors: nothing is computed. */
export function runOnFakes<R>(op: OpOverload<R>, args: readonly unknown[]): R {
  return withPreDispatchMode(null, () => withFakeTensors(() => dispatchBelowPreDispatch(op, args)));
}
