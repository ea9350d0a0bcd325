/**
 * @file Attention and its gradients: by subgroup matrices, row by row, or scheduled in tiles for threads, then spelled.
 */
import { type AttentionKernel, attentionNeeds, scheduleAttention } from '@tessera/inductor-core';
import type { AttentionChoices } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { generateRowAttention } from '../attention-rows/attention-row.js';
import { matrixCode } from '../matrices/matrix-code.js';
import { emitScheduled } from './scheduled-program.js';
import { scheduleTarget, type WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import type { WgslProgram } from '../wgsl-program.js';

/** Generates an attention kernel; in tiles where there are choices. */
export function generateAttention(
  kernel: AttentionKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  choices?: AttentionChoices,
): WgslProgram {
  const special =
    choices === undefined
      ? (generateRowAttention(kernel, target, variant) ??
        matrixCode(target)?.attention(kernel, attentionNeeds(kernel), target, variant))
      : null;
  if (special != null) return special;
  const scheduled = scheduleAttention(kernel, scheduleTarget(target), choices);
  return { ...emitScheduled(scheduled, target, variant), schedule: () => scheduled };
}
