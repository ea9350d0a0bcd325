/**
 * @file The random generator's state among the numbers that a plan is run with.
 */
import { reserveOffsets } from '@tessera/tensor/internal';
import type { ExecutionPlan } from './execution-plan.js';

/** Takes the offsets that a run draws, and puts the state before them where kernels read it: 32 bits of each. */
export function placeRandomState(
  { seed, offset, count }: NonNullable<ExecutionPlan['rng']>,
  scalars: number[],
): void {
  const state = reserveOffsets(count);
  scalars[seed] = state.seed | 0;
  scalars[offset] = state.offset | 0;
}
