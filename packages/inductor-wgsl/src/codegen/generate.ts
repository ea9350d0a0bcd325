/**
 * @file `generateKernel`: WGSL for any kernel of the IR.
 */
import { recurrenceChain, type TileMemory } from '@tessera/inductor-core';
import { TesseraError } from '@tessera/shared';
import { generateAttention } from './scheduled/attention.js';
import { generateChainStep } from './recurrence/chain-step.js';
import type { LaunchedKernel } from './scheduled/joined-kernel.js';
import { generateLoop, generateLoops } from './scheduled/loop.js';
import { generateMatmul } from './scheduled/matmul.js';
import type { WgslProgram } from './wgsl-program.js';
import { generateRecurrence, generateRecurrences } from './recurrence/recurrence-program.js';
import type { WgslTarget } from './target.js';
import { directVariant, type KernelVariant } from './variant.js';

/**
 * Generates the WGSL of a kernel for an adapter; of a recurrence that is a chain, that of its step.
 *
 * @param variant how the launch's buffers lie in memory; each alone and from its first element if absent
 * @throws kernel-missing for an extern kernel, dtype-unsupported for float64
 */
export function generateKernel(
  kernel: LaunchedKernel,
  target: WgslTarget,
  variant: KernelVariant = directVariant(kernel.params.length),
  tiles?: TileMemory,
): WgslProgram {
  if (kernel.kind === 'extern') {
    throw new TesseraError(
      'kernel-missing',
      `'${kernel.op}' has no WGSL kernel: it is only implemented as a reference kernel on the CPU.`,
      {
        context: { op: kernel.op, device: 'wgpu' },
        hints: [
          `Run this op on device 'cpu': move its inputs with .to('cpu') and the result back.`,
        ],
      },
    );
  }
  if (kernel.kind === 'joined') {
    const loops = kernel.parts.filter((part) => part.kind === 'loop');
    if (loops.length > 0) return generateLoops(kernel, loops, target, variant);
    const recurrences = kernel.parts.filter((part) => part.kind === 'recurrence');
    return generateRecurrences(kernel, recurrences, target, variant);
  }
  if (kernel.kind === 'step') return generateChainStep(kernel, target, variant);
  if (kernel.kind === 'attention') return generateAttention(kernel, target, variant);
  if (kernel.kind === 'recurrence') {
    const chain = recurrenceChain([kernel]);
    return chain === null
      ? generateRecurrence(kernel, target, variant)
      : generateKernel(chain.step, target);
  }
  if (kernel.kind === 'matmul') return generateMatmul(kernel, target, variant, { memory: tiles });
  return generateLoop(kernel, target, variant);
}
