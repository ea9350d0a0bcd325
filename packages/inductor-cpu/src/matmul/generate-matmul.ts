/**
 * @file Matrix products: their schedule, spelled.
 */
import { type MatmulKernel, scheduleProductBlocks } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { CPU_TARGET } from '../loops/cpu-target.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { emitBlocks } from './block-emitter.js';
import { operandForm } from './operand-forms.js';
import { typeOfSums } from './problem.js';

/** Code of a matrix product. @throws kernel-missing when its accumulator type has no vector form */
export function generateMatmul(kernel: MatmulKernel<Size>, options: CodeOptions): WasmKernel {
  typeOfSums(kernel);
  const scheduled = scheduleProductBlocks(kernel, CPU_TARGET, operandForm?.partsOf);
  return emitBlocks(scheduled, kernelOptions(kernel, options));
}
