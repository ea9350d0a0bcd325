/**
 * @file Which existing tensors a recorded write lets gradients flow into.
 *
 * A tensor that exists is changed only when its segment runs; until then the program must be told what the
 * recorded writes make of it, as of everything that shares its memory.
 */
import { type Tensor, gradMode } from '@tessera/tensor';
import type { Capture } from './capture.js';

/** Notes and returns the slots that take gradients from now on; `known` has the slots of results that existed. */
export function gainingGradients(
  { builder, run }: Capture,
  twins: readonly (Tensor | null)[],
  known: readonly number[],
): number[] {
  if (!gradMode.enabled) return [];
  const existing = twins.filter((_, i) => known[i]! >= 0);
  const slots = builder
    .slotsWithGradients(existing)
    .filter((slot) => !run.slots[slot]!.requiresGradFlag);
  run.noteGradients(slots);
  return slots;
}
