/**
 * @file Loading a template: one module whose code reads sizes, and a plan block for each choice of them.
 *
 * Making a block is a few additions per buffer and launch: sizes are evaluated, the arena is packed, and what the code
 * wants to know is written down. A run names its block to the module and is otherwise that of a plan.
 */
import {
  type Executable,
  type ExternKernel,
  type PlanTemplate,
  type TemplateExecutable,
  TemplateSizes,
  buffersAt,
  kernelAt,
  planAt,
} from '@tessera/inductor-core';
import { TesseraError } from '@tessera/shared';
import { cpuHeap } from '@tessera/tensor';
import { CpuExecutable, type PlanMemory, argumentSizes } from './cpu-executable.js';
import {
  type KernelGenerator,
  type LoadedCode,
  loadCode,
  planBlock,
  releaseWithExecutable,
} from './load-plan.js';
import { placeConstants } from './plan-constants.js';
import { sizesOffset } from './plan-layout.js';
import { fewestShared, isWorthSharing } from './plan-module.js';
import { threadPool } from './thread-pool.js';

/** Choices of sizes whose executables are kept although nobody else holds them. */
const KEPT = 64;
/** Places and counts are computed in 32 bits. */
const LARGEST = 2 ** 31 - 1;

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
  const fixed = fixedParts(template);
  const made = new Map<string, CpuExecutable>();
  const at = (values: readonly number[]): Executable => {
    const key = values.join();
    const executable = made.get(key) ?? executableAt(template, code, shared, fixed, sizes, values);
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

/** What a block needs of a template whatever its sizes are. */
interface FixedParts {
  /** Where the sizes of a launch lie among its arguments. */
  readonly sizesAt: readonly number[];
  readonly inputSizes: readonly number[];
  readonly outputSizes: readonly number[];
}

function fixedParts(template: PlanTemplate): FixedParts {
  return {
    sizesAt: template.launches.map((launch) => sizesOffset(template, launch)),
    inputSizes: argumentSizes(template, 'input', template.numInputs),
    outputSizes: argumentSizes(template, 'output', template.outputs.length),
  };
}

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
  code: LoadedCode,
  { constants }: SharedMemory,
  { sizesAt, inputSizes, outputSizes }: FixedParts,
  sizes: TemplateSizes,
  values: readonly number[],
): CpuExecutable {
  const valueOf = sizes.at(values);
  const { layout } = code.module;
  const { buffers, arenaBytes } = buffersAt(template, valueOf);
  const sized = template.launches.map((launch, i) => {
    const kernel = code.codes[launch.kernel];
    return {
      offset: sizesAt[i],
      sizes: (kernel?.sizes ?? []).map(valueOf),
      items: valueOf(kernel?.workItems ?? 0),
    };
  });
  const isLarge = (n: number): boolean => Math.abs(n) > LARGEST;
  if (sized.some(({ items, sizes: list }) => isLarge(items) || list.some(isLarge)))
    throw new TesseraError(
      'plan-invalid',
      `cpu: plan ${template.name} computes with sizes beyond 32 bits at ${values.join(', ')}.`,
      { hints: ['Split the tensors.'] },
    );
  const block = planBlock(template, layout, constants);
  const { i32 } = cpuHeap();
  buffers.forEach(({ source }, i) => {
    if (source.kind === 'arena') i32[(block + layout.places + 4 * i) >>> 2] = source.offset;
  });
  let parallelNs = 0;
  let parallelLaunches = 0;
  sized.forEach(({ offset, sizes: list, items }, i) => {
    i32[(block + layout.items + 4 * i) >>> 2] = items;
    const first = (block + layout.launches[i] + offset) >>> 2;
    list.forEach((size, k) => (i32[first + k] = size));
    const kernel = code.codes[template.launches[i].kernel];
    if (!isWorthSharing(kernel)) return;
    if (typeof kernel.workItems !== 'number' && items < fewestShared(kernel)) return;
    parallelNs += items * kernel.costPerItem;
    parallelLaunches++;
  });
  let released = false;
  const memory: PlanMemory = {
    block,
    constants,
    release() {
      if (released) return;
      released = true;
      cpuHeap().free(block);
    },
  };
  const externs = new Map<number, ExternKernel>();
  const executable = new CpuExecutable({
    plan: () => planAt(template, valueOf),
    kernels: template.kernels,
    launches: template.launches,
    buffers,
    externAt(index) {
      let kernel = externs.get(index);
      if (kernel === undefined)
        externs.set(index, (kernel = kernelAt(template.kernels[index], valueOf) as ExternKernel));
      return kernel;
    },
    arenaBytes,
    inputSizes,
    outputSizes,
    sources: code.sources,
    loaded: {
      ...code.module,
      parallelNs: code.module.parallelNs === 0 ? 0 : parallelNs,
      parallelLaunches,
      enter: (address) => (code.planBase.value = address | 0),
    },
    memory,
  });
  releaseWithExecutable(executable, memory);
  return executable;
}
