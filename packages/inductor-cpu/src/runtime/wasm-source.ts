/**
 * @file A kernel's code for those who read it: its text is written when it is asked for.
 */
import type { KernelSource } from '@tessera/inductor-core';
import type { WasmKernel } from '../wasm-kernel.js';
import { kernelText } from './kernel-text.js';

/** See the file header. */
export class WasmSource implements KernelSource {
  readonly language = 'wasm';
  declare readonly schedule?: NonNullable<KernelSource['schedule']>;

  constructor(
    readonly kernel: string,
    private readonly code: WasmKernel,
  ) {
    if (code.schedule !== undefined) this.schedule = code.schedule;
  }

  get text(): string {
    return kernelText(this.code.func);
  }
}
