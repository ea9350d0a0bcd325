/**
 * @file Code generation for `LoopKernel`: a schedule for vectors, spelled; or the code of a registered form.
 */
import { scheduleVectors, type LoopKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { CPU_TARGET } from './cpu-target.js';
import { emitScheduled } from './emit-scheduled.js';
import { codeOfForm } from './loop-forms.js';

/** Code of a loop kernel. @throws kernel-missing when an operation has no form, plan-invalid */
export function generateLoopKernel(kernel: LoopKernel<Size>, options: CodeOptions): WasmKernel {
  const own = kernelOptions(kernel, options);
  const ofForm = codeOfForm(kernel, own);
  if (ofForm !== null) return ofForm;
  const scheduled = scheduleVectors(kernel, CPU_TARGET);
  const code = emitScheduled(kernel, scheduled, own);
  return { ...code, schedule: () => scheduled };
}
