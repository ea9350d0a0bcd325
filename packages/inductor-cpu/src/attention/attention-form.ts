/**
 * @file Attention as kernels of its own on the CPU, where a program registers it (`useBlockedAttention`).
 */
import type { AttentionKernel, AttentionKernels } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { CodeOptions } from '../body/vector-builder.js';
import type { WasmKernel } from '../wasm-kernel.js';

/** What lowers attention to kernels, and their code. */
export interface AttentionForm {
  readonly kernels: AttentionKernels;
  readonly generate: (kernel: AttentionKernel<Size>, options: CodeOptions) => WasmKernel;
}

/** The form, or null where scores lie in memory. */
export let attentionForm: AttentionForm | null = null;

/** Makes the form known. */
export function registerAttention(form: AttentionForm): void {
  attentionForm = form;
}
