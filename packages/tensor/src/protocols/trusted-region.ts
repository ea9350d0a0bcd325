/**
 * @file `trustedRegion`: code that a tracer may match as one unit.
 *
 * An optimizer's step, a call of an ONNX model and the like are deterministic given their inputs. Declaring that lets a
 * replay compare these once and jump over the ops inside, which pays where they are many. Without a tracer the function
 * simply runs.
 */
import type { SymScalar } from '@tessera/shared';
import { autocastKey, autocastState } from '../autocast/autocast-state.js';
import { activeMode, modes } from '../dispatch/modes.js';
import type { Tensor } from '../tensor.js';

/**
 * Everything the region depends on: the tensors that it reads and writes, texts and flags that choose its ops, and
 * numbers computed on the host on every call (a learning rate, a bias correction). Numbers reach `fn` as values that a
 * trace lifts to runtime scalars: use them only as operator arguments, not in arithmetic. Where the same number of values
 * can be of another structure, a text must say so.
 */
export type RegionInputs = Readonly<Record<string, unknown>> & {
  /** Tensors that the body has anyhow: a list that is compared without being taken apart, nor given to it. */
  readonly reads?: readonly Tensor[];
};

/** A number as a region's body sees it: lifted while tracing. */
export type RegionNumber = number | SymScalar;

/**
 * Runs `fn(inputs)` as a unit of trace.
 *
 * @param owner the object whose tensors they are, for names; those of one class share traces
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
