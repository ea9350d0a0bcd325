/**
 * @file The operator that `grad()` is inside of a compiled function.
 */
import type { Tensor } from '@tessera/tensor';
import {
  autogradGrad,
  autogradGradOuter,
  autogradGradTwice,
  gradFnOf,
  requiresGrad,
} from '@tessera/tensor/internal';

/** Whether an op is `grad()` inside a compiled function. */
export function isGradOp(op: unknown): boolean {
  return op === autogradGrad || op === autogradGradTwice || op === autogradGradOuter;
}

/**
 * Whether a recorded `grad()` may miss a way to what is wanted: one that leads through history outside the
 * segment, whose inputs these are, as far as what is differentiated may be made of them.
 */
export function leavesSegment(inputs: readonly Tensor[], wanted: readonly Tensor[]): boolean {
  const outside = wanted.filter((tensor) => !tensor.isLazy);
  if (outside.length === 0) return false;
  return inputs.some((tensor) => {
    const isOnlyOne = outside.length === 1 && outside[0] === tensor;
    return !isOnlyOne && requiresGrad(tensor) && gradFnOf(tensor) !== null;
  });
}
