/**
 * @file Attention and its gradients: their schedule in blocks, spelled.
 */
import { type AttentionKernel, scheduleAttentionBlocks } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { kernelOptions } from '../body/size-slots.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { CPU_TARGET } from '../loops/cpu-target.js';
import { emitBlocks } from '../matmul/block-emitter.js';
import type { WasmKernel } from '../wasm-kernel.js';

/** Code of an attention kernel. @throws kernel-missing for what there are no blocks for */
export function generateAttention(kernel: AttentionKernel<Size>, options: CodeOptions): WasmKernel {
  return emitBlocks(scheduleAttentionBlocks(kernel, CPU_TARGET), kernelOptions(kernel, options));
}
