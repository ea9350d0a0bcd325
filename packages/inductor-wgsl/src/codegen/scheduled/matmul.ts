/**
 * @file Matrix products: as reductions, by subgroup matrices, or scheduled in tiles for threads, then spelled.
 */
import {
  extent,
  isReduction,
  matmulAsReduction,
  type MatmulKernel,
  type ProductChoices,
  scheduleProduct,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { generateLoop } from './loop.js';
import { matrixCode } from '../matrices/matrix-code.js';
import { emitScheduled } from './scheduled-program.js';
import { scheduleTarget, type WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import type { WgslProgram } from '../wgsl-program.js';

/** Generates a matmul kernel. */
export function generateMatmul(
  kernel: MatmulKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  choices: ProductChoices = {},
): WgslProgram {
  if (choices.tile === undefined && (isReduction(kernel) || extent(kernel.k) === 0))
    return generateLoop(matmulAsReduction(kernel), target, variant);
  const matrices = choices.tile === undefined ? matrixCode(target) : null;
  const bySubgroups = matrices?.product(kernel, target, variant) ?? null;
  if (bySubgroups !== null) return bySubgroups;
  const scheduled = scheduleProduct(kernel, scheduleTarget(target), choices);
  return { ...emitScheduled(scheduled, target, variant), schedule: () => scheduled };
}
