/**
 * @file `useBlockedAttention`: attention on the CPU whose scores are not in memory.
 */
import {
  type AttentionKernel,
  AttentionKernels,
  blocksPay,
  scheduleAttentionBlocks,
  sumsColumns,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { CPU_TARGET } from '../loops/cpu-target.js';
import { emitBlocks } from '../matmul/block-emitter.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { attentionForm, registerAttention } from './attention-form.js';

/** Code of attention or its gradients. @throws kernel-missing for what there are no blocks for */
export function generateAttention(kernel: AttentionKernel<Size>, options: CodeOptions): WasmKernel {
  return emitBlocks(scheduleAttentionBlocks(kernel, CPU_TARGET), kernelOptions(kernel, options));
}

/**
 * Gives attention and its gradients kernels of their own on the CPU, for which memory grows with the length and not with
 * its square. Node does it from the start; in pages `@tessera/transformers` does, and programs without it call this before they compile.
 */
export function useBlockedAttention(): void {
  if (attentionForm !== null) return;
  const kernels = new AttentionKernels({ widest: Infinity, pays: blocksPay, sumsColumns });
  registerAttention({ kernels, generate: generateAttention });
}
