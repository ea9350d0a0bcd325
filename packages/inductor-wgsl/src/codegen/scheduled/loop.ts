/**
 * @file Loop kernels: scheduled for threads, then spelled.
 */
import {
  extent,
  type LoopKernel,
  type ScheduledKernel,
  scheduleThreads,
} from '@tessera/inductor-core';
import { type Size, sizeHint } from '@tessera/shared';
import type { JoinedKernel } from './joined-kernel.js';
import type { WgslProgram } from '../wgsl-program.js';
import { emitJoined, emitScheduled } from './scheduled-program.js';
import { scheduleTarget, type WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';

/** Generates a loop kernel. */
export function generateLoop(
  kernel: LoopKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const schedule = (): ScheduledKernel => scheduleThreads(kernel, scheduleTarget(target));
  return { ...emitScheduled(schedule(), target, variant), schedule };
}

/** Schedules of kernels side by side, each for its share of the device by its points. */
export function scheduleTogether(
  kernels: readonly LoopKernel<Size>[],
  target: WgslTarget,
): readonly ScheduledKernel[] {
  const points = kernels.map(({ outer }) => sizeHint(extent(outer)));
  const all = points.reduce((sum, count) => sum + count, 0);
  return kernels.map((kernel, i) =>
    scheduleThreads(kernel, {
      ...scheduleTarget(target),
      parallelism: (target.parallelism * points[i]) / Math.max(1, all),
    }),
  );
}

/** Generates loop kernels that share a launch. */
export function generateLoops(
  kernel: JoinedKernel,
  parts: readonly LoopKernel<Size>[],
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  return emitJoined(kernel, scheduleTogether(parts, target), target, variant);
}
