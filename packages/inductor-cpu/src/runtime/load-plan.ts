/**
 * @file Loading a plan: kernels are generated and linked into one module, which is instantiated here and,
 * when some launch is worth sharing, on the worker threads.
 */
import { type Size, type Steps, TesseraError, atOnce } from '@tessera/shared';
import type {
  ExecutionPlan,
  ExternKernel,
  FusedKernel,
  GeneratedKernel,
  KernelSource,
} from '@tessera/inductor-core';
import { cpuHeap } from '@tessera/tensor';
import { assemblySteps } from '../emit/assemble-module.js';
import type { Global } from '../emit/types.js';
import { SCRATCH, type WasmKernel } from '../wasm-kernel.js';
import {
  CpuExecutable,
  type PlanBlock,
  type PlanNumbers,
  argumentSizes,
} from './cpu-executable.js';
import { CONTROL_BASE, PLAN, THREAD } from './parallel-code.js';
import { placeConstants } from './plan-constants.js';
import { planLayout, type PlanLayout, type PlanOutline } from './plan-layout.js';
import { PLAN_BASE, planFunctions, segmentName } from './plan-module.js';
import { moduleSteps } from './make-module.js';
import { threadPool } from './thread-pool.js';
import { WasmSource } from './wasm-source.js';

/** Runs launches, on the pool if told so; gives the number, counted from one, of one whose check failed, or 0. */
export type SegmentFunction = (parallel: number) => number;

/** A segment ready to run: code, or the extern launch of this number. */
export type LoadedSegment =
  { readonly run: SegmentFunction } | { readonly run: null; readonly launch: number };

/** A plan's module on the calling thread. */
export interface LoadedModule {
  readonly layout: PlanLayout;
  readonly segments: readonly LoadedSegment[];
  readonly bind: () => void;
  /** Makes a plan block that of the runs that follow; absent in a module of one block. */
  readonly enter?: (block: number) => void;
}

/** What threads may share: estimated single-thread time in nanoseconds, and in how many launches. */
export interface Sharable {
  readonly parallelNs: number;
  readonly parallelLaunches: number;
}

/** Generates code for any kernel but extern calls. */
export type KernelGenerator = (kernel: GeneratedKernel<Size>) => WasmKernel;

/** Pages of 64 KiB that a 32-bit memory can have. */
const MAX_PAGES = 65536;

const abandoned = new FinalizationRegistry<() => void>((release) => release());

/** Releases memory when nobody holds what needs it any more. */
export function releaseWith(owner: object, release: () => void): void {
  abandoned.register(owner, release);
}

/** Code of a plan or template, linked and loaded. */
export interface LoadedCode {
  readonly codes: readonly (WasmKernel | null)[];
  readonly sources: readonly KernelSource[];
  readonly module: Omit<LoadedModule, 'enter'>;
  readonly sharable: Sharable;
  readonly scratchBytes: number;
  /** Number of the plan at the pool. */
  readonly id: number;
  readonly planBase: WebAssembly.Global;
  /** Sets the addresses of what never changes; offers the module to the pool. */
  start(scratch: number): void;
}

/** Generates and loads code. @throws plan-invalid, kernel-missing, out-of-memory, webassembly-forbidden */
export function loadCode(
  plan: PlanOutline & { readonly device: string },
  generate: KernelGenerator,
  isTemplate: boolean,
): LoadedCode {
  return atOnce(codeSteps(plan, generate, isTemplate));
}

/** `loadCode` with pauses after each kernel, and while the host compiles the module. */
function* codeSteps(
  plan: PlanOutline & { readonly device: string },
  generate: KernelGenerator,
  isTemplate: boolean,
): Steps<LoadedCode> {
  if (plan.device !== 'cpu') {
    throw new TesseraError(
      'plan-invalid',
      `Plan ${plan.name} is for device ${plan.device}, not cpu.`,
      {
        hints: ['Load it with the backend of its device, or compile for cpu.'],
      },
    );
  }
  const codes: (WasmKernel | null)[] = [];
  for (const kernel of plan.kernels) {
    codes.push(kernel.kind === 'extern' ? null : generate(kernel));
    yield;
  }
  const sources = plan.kernels.map((kernel, index) => kernelSource(kernel, codes[index]));
  const layout = planLayout(plan, codes, isTemplate);
  yield;
  const functions = planFunctions(plan, codes, layout);
  const globals: Global[] = [SCRATCH, PLAN_BASE, CONTROL_BASE, THREAD, PLAN];
  const heap = cpuHeap();
  yield;
  const bytes = yield* assemblySteps({
    memory: { minPages: 1, maxPages: MAX_PAGES, shared: heap.shared },
    functions: functions.exports,
    globals,
  });
  const module = yield* moduleSteps(bytes);
  const { exports } = new WebAssembly.Instance(module, {
    env: { memory: heap.memory },
    // Rare scalar functions of 64-bit floats come from the host.
    math: Math as unknown as WebAssembly.ModuleImports,
  });
  const pool = threadPool();
  const id = pool.nextPlanId();
  const scratchBytes = Math.max(0, ...codes.map((code) => code?.scratchBytesPerThread ?? 0));
  const planBase = exports[PLAN_BASE.name] as WebAssembly.Global;
  return {
    codes,
    sources,
    module: {
      layout,
      segments: functions.segments.map((segment, index) =>
        segment.kind === 'extern'
          ? { run: null, launch: segment.launch }
          : { run: exports[segmentName(index)] as SegmentFunction },
      ),
      bind: exports['bind'] as () => void,
    },
    sharable: {
      parallelNs: heap.shared ? functions.parallelNs : 0,
      parallelLaunches: functions.parallelLaunches,
    },
    scratchBytes,
    id,
    planBase,
    start(scratch) {
      // Workers get addresses with their jobs; the plan block is the calling thread's.
      const values = {
        [PLAN_BASE.name]: planBase.value,
        [CONTROL_BASE.name]: pool.control,
        [PLAN.name]: id,
      };
      const own = { ...values, [SCRATCH.name]: scratch, [THREAD.name]: 0 };
      for (const [name, value] of Object.entries(own))
        (exports[name] as WebAssembly.Global).value = value | 0;
      if (functions.parallelNs > 0 && heap.shared)
        pool.share({ id, module, globals: values, scratchBytes });
    },
  };
}

/** What a plan computes of sizes. */
const NO_SIZES: readonly number[] = [];

/** Prepares a plan to run. @throws plan-invalid, kernel-missing, out-of-memory, webassembly-forbidden */
export function* loadingSteps(
  plan: ExecutionPlan,
  generate: KernelGenerator,
): Steps<CpuExecutable> {
  const code = yield* codeSteps(plan, generate, false);
  const { layout } = code.module;
  const constants = placeConstants(plan);
  const address = planBlock(plan, layout, constants);
  const { arenaBytes } = plan;
  const block: PlanBlock = { address, computed: NO_SIZES, arenaBytes, ...code.sharable };
  code.planBase.value = address | 0;
  const release = startCode(code, () => {
    for (const ptr of [address, ...constants]) cpuHeap().free(ptr);
  });
  const numbers: PlanNumbers = {
    plan,
    sizeAt: Number,
    buffers: plan.buffers,
    externAt: (kernel) => plan.kernels[kernel] as ExternKernel,
  };
  const executable = new CpuExecutable(
    {
      kernels: plan.kernels,
      launches: plan.launches,
      inputSizes: argumentSizes(plan, 'input', plan.numInputs),
      outputSizes: argumentSizes(plan, 'output', plan.outputs.length),
      sources: code.sources,
      loaded: code.module,
      constants,
      blocks: { at: () => block },
      numbersAt: () => numbers,
      onDispose: release,
    },
    NO_SIZES,
  );
  releaseWith(executable, release);
  return executable;
}

/** Takes scratch memory and has code run; gives what ends that, and frees other memory, once. */
export function startCode(code: LoadedCode, free: () => void): () => void {
  const pool = threadPool();
  const { id } = code;
  const scratch = pool.scratch.acquire(code.scratchBytes);
  code.start(scratch.ptr);
  let released = false;
  return () => {
    if (released) return;
    released = true;
    pool.drop(id);
    pool.scratch.release(scratch);
    free();
  };
}

/** A plan block with the addresses of constants. */
export function planBlock(
  plan: PlanOutline,
  layout: PlanLayout,
  constants: readonly number[],
): number {
  const heap = cpuHeap();
  const block = heap.alloc(layout.bytes);
  heap.u8.fill(0, block, block + layout.bytes);
  plan.launches.forEach((launch, index) => {
    launch.buffers.forEach((buffer, position) => {
      const { source } = plan.buffers[buffer];
      if (source.kind === 'constant')
        heap.i32[(block + layout.launches[index] + 4 * position) >>> 2] = constants[source.index];
    });
  });
  return block;
}

/** Readable form of a kernel; written out when somebody reads it. */
export function kernelSource(kernel: FusedKernel<Size>, code: WasmKernel | null): KernelSource {
  if (code === null)
    return {
      kernel: kernel.name,
      language: 'extern',
      text: `;; calls the reference kernel of ${(kernel as ExternKernel).op}`,
    };
  return new WasmSource(kernel.name, code);
}
