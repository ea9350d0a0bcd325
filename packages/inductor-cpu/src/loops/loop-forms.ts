/**
 * @file Forms of loop kernels that have code of their own, in place of a schedule for vectors.
 *
 * A program registers those that it wants: pages that never do leave out their code.
 */
import type { LoopKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { KernelOptions } from '../body/size-slots.js';
import type { WasmKernel } from '../wasm-kernel.js';

/** Code of a kernel of the form, or null for others. */
export type LoopForm = (kernel: LoopKernel<Size>, options: KernelOptions) => WasmKernel | null;

const forms = new Set<LoopForm>();

/** Makes a form known; those registered first come first. */
export function registerLoopForm(form: LoopForm): void {
  forms.add(form);
}

/** Whether a program has registered any. */
export function hasLoopForms(): boolean {
  return forms.size > 0;
}

/** Code of the first form that a kernel has, or null. */
export function codeOfForm(kernel: LoopKernel<Size>, options: KernelOptions): WasmKernel | null {
  for (const form of forms) {
    const code = form(kernel, options);
    if (code !== null) return code;
  }
  return null;
}
