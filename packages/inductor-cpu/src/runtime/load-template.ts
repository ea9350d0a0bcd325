/**
 * @file Loading a template: one module whose code reads sizes, and a plan block for each choice of them.
 *
 * A run names its block (template-block.ts) to the module and is otherwise that of a plan.
 */
import {
  type Executable,
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
  type PlanMemory,
  argumentSizes,
} from './cpu-executable.js';
import {
  type KernelGenerator,
  type LoadedCode,
  loadCode,
  releaseWithExecutable,
} from './load-plan.js';
import { placeConstants } from './plan-constants.js';
import { TemplateBlocks } from './template-block.js';
import { threadPool } from './thread-pool.js';

/** Choices of sizes whose executables are kept although nobody else holds them. */
const KEPT = 64;

/** What all executables of a template share; freed with the last of them. */
interface SharedMemory {
  readonly constants: readonly number[];
  readonly release: () => void;
}

/** Prepares a template. @throws plan-invalid, kernel-missing, out-of-memory, webassembly-forbidden */
export function loadTemplate(
  template: PlanTemplate,
  generate: KernelGenerator,
): TemplateExecutable {
  const code = loadCode(template, generate, true);
  const shared = sharedMemory(template, code);
  const sizes = new TemplateSizes(template.symbols);
  const blocks = new TemplateBlocks(template, sizes, code, shared.constants);
  const { planBase } = code;
  const common: CommonProgram = {
    kernels: template.kernels,
    launches: template.launches,
    inputSizes: argumentSizes(template, 'input', template.numInputs),
    outputSizes: argumentSizes(template, 'output', template.outputs.length),
    sources: code.sources,
    loaded: { ...code.module, enter: (block) => (planBase.value = block | 0) },
  };
  const made = new Map<string, CpuExecutable>();
  const at = (values: readonly number[]): Executable => {
    const key = values.join();
    const executable =
      made.get(key) ?? executableAt(template, common, blocks, shared, sizes.at(values), values);
    made.delete(key);
    made.set(key, executable);
    if (made.size > KEPT) made.delete(made.keys().next().value!);
    return executable;
  };
  return {
    template,
    at,
    dispose() {
      for (const executable of made.values()) executable.dispose();
      made.clear();
      shared.release();
    },
  };
}

/** What no size changes. */
type CommonProgram = Pick<
  CpuProgram,
  'kernels' | 'launches' | 'inputSizes' | 'outputSizes' | 'sources' | 'loaded'
>;

const abandoned = new FinalizationRegistry<SharedMemory>((memory) => memory.release());

function sharedMemory(template: PlanTemplate, code: LoadedCode): SharedMemory {
  const pool = threadPool();
  const constants = placeConstants(template);
  const scratch = pool.scratch.acquire(code.scratchBytes);
  code.start(scratch.ptr);
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    pool.drop(code.id);
    pool.scratch.release(scratch);
    for (const ptr of constants) cpuHeap().free(ptr);
  };
  const shared = { constants, release };
  // Every executable holds the code.
  abandoned.register(code, shared);
  return shared;
}

function executableAt(
  template: PlanTemplate,
  common: CommonProgram,
  blocks: TemplateBlocks,
  { constants }: SharedMemory,
  valueOf: SizeValue,
  values: readonly number[],
): CpuExecutable {
  const { address, arenaBytes, sharable } = blocks.at(values, valueOf);
  let released = false;
  const memory: PlanMemory = {
    block: address,
    constants,
    release() {
      if (released) return;
      released = true;
      cpuHeap().free(address);
    },
  };
  let externs: Map<number, ExternKernel> | null = null;
  let buffers: readonly PlanBuffer[] | null = null;
  const executable = new CpuExecutable({
    ...common,
    plan: () => planAt(template, valueOf),
    sizeAt: valueOf,
    buffers: () => (buffers ??= buffersAt(template, valueOf).buffers),
    externAt(index) {
      let kernel = (externs ??= new Map()).get(index);
      if (kernel === undefined)
        externs.set(index, (kernel = kernelAt(template.kernels[index], valueOf) as ExternKernel));
      return kernel;
    },
    arenaBytes,
    sharable,
    memory,
  });
  releaseWithExecutable(executable, memory);
  return executable;
}
