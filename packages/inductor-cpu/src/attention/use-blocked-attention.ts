/**
 * @file `useBlockedAttention`: attention on the CPU whose scores are not in memory.
 */
import { AttentionKernels, blocksPay, sumsColumns } from '@tessera/inductor-core';
import { attentionForm, registerAttention } from './attention-form.js';
import { generateAttention } from './generate-attention.js';

/**
 * Gives attention and its gradients kernels of their own on the CPU, for which memory grows with the length and not with
 * its square. Node does it from the start; in pages `@tessera/transformers` does, and programs without it call this before they compile.
 */
export function useBlockedAttention(): void {
  if (attentionForm !== null) return;
  const kernels = new AttentionKernels({ widest: Infinity, pays: blocksPay, sumsColumns });
  registerAttention({ kernels, generate: generateAttention });
}
