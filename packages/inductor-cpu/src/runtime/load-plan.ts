/**
 * @file Loading a plan: kernels are generated and linked into one module, which is instantiated here and,
 * when some launch is worth sharing, on the worker threads.
 */
import { TesseraError } from '@tessera/shared';
import type {
  Executable,
  ExecutionPlan,
  ExternKernel,
  FusedKernel,
  KernelSource,
} from '@tessera/inductor-core';
import { cpuHeap } from '@tessera/tensor';
import { assembleModule, printFunctionWithDependencies } from '../emit/assemble-module.js';
import type { Global } from '../emit/types.js';
import { SCRATCH, type WasmKernel } from '../wasm-kernel.js';
import { CpuExecutable, type PlanMemory } from './cpu-executable.js';
import { CONTROL_BASE, PLAN, THREAD } from './parallel-code.js';
import { placeConstants } from './plan-constants.js';
import { planLayout, type PlanLayout } from './plan-layout.js';
import { PLAN_BASE, planFunctions, segmentName } from './plan-module.js';
import { makeModule } from './make-module.js';
import { threadPool } from './thread-pool.js';

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
  /** Estimated single-thread time of what can be shared, in nanoseconds; and in how many launches. */
  readonly parallelNs: number;
  readonly parallelLaunches: number;
}

/** Generates code for any kernel but extern calls. */
export type KernelGenerator = (kernel: Exclude<FusedKernel, ExternKernel>) => WasmKernel;

/** Pages of 64 KiB that a 32-bit memory can have. */
const MAX_PAGES = 65536;

const abandoned = new FinalizationRegistry<PlanMemory>((memory) => memory.release());

/** Prepares a plan to run. @throws plan-invalid, kernel-missing, out-of-memory, webassembly-forbidden */
export function loadPlan(plan: ExecutionPlan, generate: KernelGenerator): Executable {
  if (plan.device !== 'cpu') {
    throw new TesseraError(
      'plan-invalid',
      `Plan ${plan.name} is for device ${plan.device}, not cpu.`,
      {
        hints: ['Load it with the backend of its device, or compile for cpu.'],
      },
    );
  }
  const codes = plan.kernels.map((kernel) => (kernel.kind === 'extern' ? null : generate(kernel)));
  const sources = plan.kernels.map((kernel, index) => kernelSource(kernel, codes[index]));
  const layout = planLayout(plan);
  const functions = planFunctions(plan, codes, layout);
  const globals: Global[] = [SCRATCH, PLAN_BASE, CONTROL_BASE, THREAD, PLAN];
  const heap = cpuHeap();
  const module = makeModule(
    assembleModule({
      memory: { minPages: 1, maxPages: MAX_PAGES, shared: heap.shared },
      functions: functions.exports,
      globals,
    }),
  );
  const { exports } = new WebAssembly.Instance(module, {
    env: { memory: heap.memory },
    // Rare scalar functions of 64-bit floats come from the host.
    math: Math as unknown as WebAssembly.ModuleImports,
  });

  const pool = threadPool();
  const id = pool.nextPlanId();
  const scratchBytes = Math.max(0, ...codes.map((code) => code?.scratchBytesPerThread ?? 0));
  const memory = planMemory(plan, layout, scratchBytes, id);
  const values = {
    [PLAN_BASE.name]: memory.block,
    [CONTROL_BASE.name]: pool.control,
    [PLAN.name]: id,
  };
  const own = { ...values, [SCRATCH.name]: memory.scratch, [THREAD.name]: 0 };
  for (const [name, value] of Object.entries(own))
    (exports[name] as WebAssembly.Global).value = value | 0;
  if (functions.parallelNs > 0 && heap.shared)
    pool.share({ id, module, globals: values, scratchBytes });

  const loaded: LoadedModule = {
    layout,
    segments: functions.segments.map((segment, index) =>
      segment.kind === 'extern'
        ? { run: null, launch: segment.launch }
        : { run: exports[segmentName(index)] as SegmentFunction },
    ),
    bind: exports['bind'] as () => void,
    parallelNs: heap.shared ? functions.parallelNs : 0,
    parallelLaunches: functions.parallelLaunches,
  };
  const executable = new CpuExecutable(plan, sources, loaded, memory);
  abandoned.register(executable, memory);
  return executable;
}

/** Takes the plan block, constants and scratch from the heap, and writes what never changes. */
function planMemory(
  plan: ExecutionPlan,
  layout: PlanLayout,
  scratchBytes: number,
  id: number,
): PlanMemory & { readonly scratch: number } {
  const heap = cpuHeap();
  const pool = threadPool();
  const constants = placeConstants(plan);
  const block = heap.alloc(layout.bytes);
  const scratch = pool.scratch.acquire(scratchBytes);
  heap.u8.fill(0, block, block + layout.bytes);
  plan.launches.forEach((launch, index) => {
    launch.buffers.forEach((buffer, position) => {
      const { source } = plan.buffers[buffer];
      if (source.kind === 'constant')
        heap.i32[(block + layout.launches[index] + 4 * position) >>> 2] = constants[source.index];
    });
  });
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    pool.drop(id);
    pool.scratch.release(scratch);
    heap.free(block);
    for (const ptr of constants) heap.free(ptr);
  };
  return { block, constants, scratch: scratch.ptr, release };
}

/** Readable form of a kernel; written out when somebody reads it. */
export function kernelSource(kernel: FusedKernel, code: WasmKernel | null): KernelSource {
  if (code === null)
    return {
      kernel: kernel.name,
      language: 'extern',
      text: `;; calls the reference kernel of ${(kernel as ExternKernel).op}`,
    };
  let text: string | null = null;
  return {
    kernel: kernel.name,
    language: 'wasm',
    get text(): string {
      return (text ??= printFunctionWithDependencies(code.func));
    },
  };
}
