/**
 * @file `useWebAssemblyText`: what kernels on the CPU are, to read.
 */
import { registerPrinter } from '../runtime/kernel-text.js';
import { printFunctionWithDependencies } from './print-module.js';

/**
 * Gives the generated code of kernels on the CPU its text: in logs (`output_code`) and in `KernelSource.text`. Node does it
 * from the start; in pages `@tessera/compile/exploration` does.
 */
export function useWebAssemblyText(): void {
  registerPrinter(printFunctionWithDependencies);
}
