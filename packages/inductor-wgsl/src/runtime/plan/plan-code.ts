/**
 * @file `PlanCode`: the programs of a plan's kernels, each variant made once.
 *
 * The programs of a template serve its plans of all sizes.
 */
import type { KernelSource } from '@tessera/inductor-core';
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import type { WgslProgram } from '../../codegen/wgsl-program.js';
import { directVariant, variantKey, type KernelVariant } from '../../codegen/variant.js';
import type { VariantSource } from './launch.js';

/** Code generation as a plan needs it. */
export type Generator = (kernel: number, variant?: KernelVariant) => WgslProgram;

/** A program as tools see it. */
export function wgslSource(kernel: string, { text, schedule }: WgslProgram): KernelSource {
  return { kernel, language: 'wgsl', text, ...(schedule === undefined ? {} : { schedule }) };
}

/** See the file header. */
export class PlanCode {
  /** In the order of the kernels. */
  readonly programs: readonly WgslProgram[];
  readonly sources: readonly KernelSource[];
  /** By kernel: its program in a variant. */
  readonly variants: readonly VariantSource[];

  constructor(kernels: readonly LaunchedKernel[], generate: Generator) {
    this.programs = kernels.map((_, index) => generate(index));
    this.sources = kernels.map(({ name }, index) => wgslSource(name, this.programs[index]));
    this.variants = kernels.map(({ params }, index) => {
      const direct = variantKey(directVariant(params.length));
      const made = new Map<string, WgslProgram>([[direct, this.programs[index]]]);
      return (variant, key) => {
        let program = made.get(key);
        if (program === undefined) made.set(key, (program = generate(index, variant)));
        return program;
      };
    });
  }
}
