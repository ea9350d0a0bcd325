/**
 * @file Code generation for `LoopKernel`: a schedule for vectors, spelled.
 */
import { scheduleVectors, type LoopKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { CPU_TARGET } from './cpu-target.js';
import { emitScheduled } from './emit-scheduled.js';

/** Code of a loop kernel. @throws kernel-missing when an operation has no form, plan-invalid */
export function generateLoopKernel(kernel: LoopKernel<Size>, options: CodeOptions): WasmKernel {
  const scheduled = scheduleVectors(kernel, CPU_TARGET);
  const code = emitScheduled(kernel, scheduled, kernelOptions(kernel, options));
  return { ...code, schedule: () => scheduled };
}
