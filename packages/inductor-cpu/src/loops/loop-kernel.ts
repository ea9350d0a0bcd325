/**
 * @file Code generation for `LoopKernel`: a schedule for vectors, spelled.
 */
import { printScheduled, scheduleVectors, type LoopKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { CPU_TARGET } from './cpu-target.js';
import { emitScheduled } from './emit-scheduled.js';

/** Code of a loop kernel. @throws kernel-missing when an operation has no form, plan-invalid */
export function generateLoopKernel(kernel: LoopKernel<Size>, options: CodeOptions): WasmKernel {
  return emitScheduled(kernel, scheduleVectors(kernel, CPU_TARGET), kernelOptions(kernel, options));
}

/** The text of the schedule that a loop kernel's code spells. */
export function printLoopSchedule(kernel: LoopKernel<Size>): string {
  return printScheduled(scheduleVectors(kernel, CPU_TARGET));
}
