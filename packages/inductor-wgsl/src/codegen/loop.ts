/**
 * @file Loop kernels: scheduled for threads, then spelled.
 */
import { type LoopKernel, type ScheduledKernel, scheduleThreads } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { emitScheduled } from './emit-scheduled.js';
import type { WgslProgram } from './program.js';
import { scheduleTarget, type WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';

/** Generates a loop kernel. */
export function generateLoop(
  kernel: LoopKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const schedule = (): ScheduledKernel => scheduleThreads(kernel, scheduleTarget(target));
  return { ...emitScheduled(schedule(), target, variant), schedule };
}
