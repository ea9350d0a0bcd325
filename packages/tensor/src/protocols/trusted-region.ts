/**
 * @file `trustedRegion`: code that a tracer may match as one unit.
 *
 * An optimizer's step, a call of an ONNX model and the like are deterministic given their inputs
 * and the tracked attributes of their owner. Declaring that lets a replay compare the owner once and
 * jump over the ops inside, which pays where they are many: comparing an owner costs as much as a dozen
 * matched operators. Without a tracer the function simply runs.
 */
import type { SymScalar } from '@tessera/shared';
import { autocastKey, autocastState } from '../autocast/autocast-state.js';
import { activeMode, modes } from '../dispatch/modes.js';

/**
 * Everything the region reads besides its owner's tracked attributes: tensors, and numbers computed
 * on the host on every call (a learning rate, a bias correction). Numbers reach `fn` as values that a
 * trace lifts to runtime scalars: use them only as operator arguments, not in arithmetic.
 */
export type RegionInputs = Readonly<Record<string, unknown>>;

/** A number as a region's body sees it: lifted while tracing. */
export type RegionNumber = number | SymScalar;

/**
 * Runs `fn(inputs)` as a unit of trace.
 *
 * @param owner tracked object (`track`) whose attributes the body may read
 * @param name what runs, for reports: `forward`, `step`
 */
export function trustedRegion<I extends RegionInputs, R>(
  owner: object,
  name: string,
  inputs: I,
  fn: (inputs: I) => R,
): R {
  const mode = modes.pre ?? activeMode(Object.values(inputs));
  if (mode === null) return fn(inputs);
  // What the body computes depends on the autocast scope, so the scope is part of the input.
  const all = autocastState.active === null ? inputs : { ...inputs, autocast: autocastKey() };
  return mode.onRegion(owner, name, all, fn as (inputs: RegionInputs) => R);
}
