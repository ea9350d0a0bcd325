/**
 * @file Loading a template: one module whose code reads sizes, and a plan block for each choice of them.
 *
 * A run names its block (template-block.ts) to the module and is otherwise that of a plan.
 */
import {
  type ExecutionPlan,
  type ExternKernel,
  type PlanBuffer,
  type PlanTemplate,
  type SizeValue,
  type TemplateExecutable,
  TemplateSizes,
  buffersAt,
  kernelAt,
  planAt,
} from '@tessera/inductor-core';
import { cpuHeap } from '@tessera/tensor';
import {
  CpuExecutable,
  type CpuProgram,
  type PlanNumbers,
  argumentSizes,
} from './cpu-executable.js';
import {
  type KernelGenerator,
  type LoadedCode,
  loadCode,
  releaseWith,
  startCode,
} from './load-plan.js';
import { placeConstants } from './plan-constants.js';
import { TemplateBlocks } from './template-block.js';

/** Prepares a template. @throws plan-invalid, kernel-missing, out-of-memory, webassembly-forbidden */
export function loadTemplate(
  template: PlanTemplate,
  generate: KernelGenerator,
): TemplateExecutable {
  const program = new TemplateProgram(template, loadCode(template, generate, true));
  return {
    template,
    at: (computed) => new CpuExecutable(program, computed),
    dispose: () => program.release(),
  };
}

/** What all executables of a template share; its memory is freed with the last of them. */
class TemplateProgram implements CpuProgram {
  readonly kernels: CpuProgram['kernels'];
  readonly launches: CpuProgram['launches'];
  readonly inputSizes: readonly number[];
  readonly outputSizes: readonly number[];
  readonly sources: CpuProgram['sources'];
  readonly loaded: CpuProgram['loaded'];
  readonly constants: readonly number[];
  readonly release: () => void;
  private readonly sizes: TemplateSizes;
  readonly blocks: TemplateBlocks;

  constructor(
    private readonly template: PlanTemplate,
    code: LoadedCode,
  ) {
    const { planBase } = code;
    this.kernels = template.kernels;
    this.launches = template.launches;
    this.inputSizes = argumentSizes(template, 'input', template.numInputs);
    this.outputSizes = argumentSizes(template, 'output', template.outputs.length);
    this.sources = code.sources;
    this.loaded = { ...code.module, enter: (block) => (planBase.value = block | 0) };
    this.constants = placeConstants(template);
    this.sizes = new TemplateSizes(template.symbols);
    this.blocks = new TemplateBlocks(template, code, this.constants);
    const { constants, blocks } = this;
    this.release = startCode(code, () => {
      blocks.release();
      for (const ptr of constants) cpuHeap().free(ptr);
    });
    releaseWith(this, this.release);
  }

  numbersAt(computed: readonly number[]): PlanNumbers {
    return new PlanAtSizes(this.template, this.sizes.at(computed));
  }

  /** Others go on. */
  onDispose(): void {}
}

/** See `PlanNumbers`. */
class PlanAtSizes implements PlanNumbers {
  private readonly externs = new Map<number, ExternKernel>();
  private placed: readonly PlanBuffer[] | null = null;
  private whole: ExecutionPlan | null = null;

  constructor(
    private readonly template: PlanTemplate,
    readonly sizeAt: SizeValue,
  ) {}

  get plan(): ExecutionPlan {
    return (this.whole ??= planAt(this.template, this.sizeAt));
  }

  get buffers(): readonly PlanBuffer[] {
    return (this.placed ??= buffersAt(this.template, this.sizeAt).buffers);
  }

  externAt(index: number): ExternKernel {
    let kernel = this.externs.get(index);
    if (kernel === undefined) {
      kernel = kernelAt(this.template.kernels[index], this.sizeAt) as ExternKernel;
      this.externs.set(index, kernel);
    }
    return kernel;
  }
}
