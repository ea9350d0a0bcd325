/**
 * @file Code generation for `RecurrenceKernel`: a schedule for vectors, spelled.
 */
import { scheduleRecurrence, type RecurrenceKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { CPU_TARGET } from '../loops/cpu-target.js';
import { emitScheduled } from '../loops/emit-scheduled.js';
import type { WasmKernel } from '../wasm-kernel.js';

/** Code of a recurrence kernel. @throws kernel-missing when states have a type without vectors */
export function generateRecurrence(
  kernel: RecurrenceKernel<Size>,
  options: CodeOptions,
): WasmKernel {
  const scheduled = scheduleRecurrence(kernel, CPU_TARGET);
  const code = emitScheduled(scheduled.kernel, scheduled, kernelOptions(kernel, options));
  return { ...code, schedule: () => scheduled };
}
