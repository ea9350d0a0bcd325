/**
 * @file `CpuExecutable`: a loaded plan.
 *
 * `run` writes the addresses of its arguments into the plan block and makes one call into WebAssembly.
 * The arena is taken from the heap for the duration of a run, so idle plans hold no scratch.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Executable,
  type ExecutionPlan,
  type ExternKernel,
  type KernelSource,
  type PlanBuffer,
  type SizeValue,
  boundTo,
  checkAt,
  checksOf,
} from '@tessera/inductor-core';
import { type CpuHeap, type Tensor, cpuHeap, itemSize } from '@tessera/tensor';
import { valueError } from '@tessera/tensor/internal';
import { checksOffset } from '../wasm-kernel.js';
import { runExtern } from './extern-calls.js';
import type { LoadedModule, SegmentFunction, Sharable } from './load-plan.js';
import type { PlanOutline } from './plan-layout.js';
import { threadPool } from './thread-pool.js';

/** Memory of a plan; freed once. */
export interface PlanMemory {
  readonly block: number;
  readonly constants: readonly number[];
  release(): void;
}

/** What an executable runs. */
export interface CpuProgram {
  /** The plan, when somebody asks for it. */
  readonly plan: () => ExecutionPlan;
  /** Kernels as their code was generated from, by whose checks reports are numbered. */
  readonly kernels: PlanOutline['kernels'];
  /** Values of the sizes in their checks. */
  readonly sizeAt: SizeValue;
  readonly launches: ExecutionPlan['launches'];
  /** Buffers with their places, of which only calls of reference kernels ask. */
  readonly buffers: () => readonly PlanBuffer[];
  /** The extern kernel of this number at the sizes of this executable. */
  readonly externAt: (kernel: number) => ExternKernel;
  readonly arenaBytes: number;
  /** Bytes of an element of each argument; an argument that no kernel uses has none. */
  readonly inputSizes: readonly number[];
  readonly outputSizes: readonly number[];
  readonly sources: readonly KernelSource[];
  readonly loaded: LoadedModule;
  readonly sharable: Sharable;
  readonly memory: PlanMemory;
}

/** See the file header. */
export class CpuExecutable implements Executable {
  readonly #program: CpuProgram;
  readonly #heap: CpuHeap = cpuHeap();
  /** The only segment of a plan without extern calls. */
  readonly #single: SegmentFunction | null;
  #plan: ExecutionPlan | null = null;
  #arena = 0;
  #disposed = false;

  constructor(program: CpuProgram) {
    this.#program = program;
    const { segments } = program.loaded;
    this.#single = segments.length === 1 ? (segments[0].run ?? null) : null;
  }

  get plan(): ExecutionPlan {
    return (this.#plan ??= this.#program.plan());
  }

  get sources(): readonly KernelSource[] {
    return this.#program.sources;
  }

  run(inputs: readonly Tensor[], outputs: readonly Tensor[], scalars: readonly number[]): void {
    if (this.#disposed) throw this.#afterDispose();
    const { arenaBytes, loaded, sharable, memory, inputSizes, outputSizes } = this.#program;
    this.#arena = arenaBytes > 0 ? this.#heap.alloc(arenaBytes) : 0;
    try {
      const { layout } = loaded;
      const { parallelNs, parallelLaunches } = sharable;
      const { i32, f64 } = this.#heap;
      const { block } = memory;
      loaded.enter?.(block);
      this.#bind('input', i32, (block + layout.inputs) >>> 2, inputs, inputSizes);
      this.#bind('output', i32, (block + layout.outputs) >>> 2, outputs, outputSizes);
      i32[(block + layout.arena) >>> 2] = this.#arena;
      const scalarSlot = (block + layout.scalars) / 8;
      for (let i = 0; i < scalars.length; i++) f64[scalarSlot + i] = scalars[i];
      const parallel = parallelNs > 0 && threadPool().isWorthwhile(parallelNs) ? 1 : 0;
      const failed =
        this.#single === null ? this.#runSegments(parallel, scalars) : this.#single(parallel);
      if (parallel === 1 && threadPool().finishRun(parallelLaunches)) throw this.#trapped(null);
      if (failed > 0) throw this.#refused(failed - 1);
    } catch (error) {
      throw this.#explain(error);
    } finally {
      if (arenaBytes > 0) this.#heap.free(this.#arena);
    }
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#program.memory.release();
  }

  /** Writes the addresses of arguments. Only memory of the heap has one: others never reach a kernel. */
  #bind(
    role: 'input' | 'output',
    words: Int32Array,
    slot: number,
    tensors: readonly Tensor[],
    sizes: readonly number[],
  ): void {
    for (let i = 0; i < sizes.length; i++) {
      const tensor = tensors[i];
      const { storage } = tensor;
      if (storage.ptr < 0) boundTo(this.plan, role, i, tensor);
      words[slot + i] = storage.ptr + tensor.storageOffset * sizes[i];
    }
  }

  /** The number of the launch in which a check failed, counted from one, or 0. */
  #runSegments(parallel: number, scalars: readonly number[]): number {
    this.#program.loaded.bind();
    const { launches, buffers, externAt } = this.#program;
    for (const segment of this.#program.loaded.segments) {
      if (segment.run !== null) {
        const failed = segment.run(parallel);
        if (failed > 0) return failed;
        continue;
      }
      const launch = launches[segment.launch];
      runExtern(
        externAt(launch.kernel),
        launch,
        buffers(),
        (buffer) => this.#addressOf(buffer),
        scalars,
      );
    }
    return 0;
  }

  /** The error for the check that failed in a launch, whose report is taken back. */
  #refused(index: number): TesseraError {
    const { launches, kernels, sizeAt, memory, loaded } = this.#program;
    const launch = launches[index];
    const { i32 } = this.#heap;
    const offset = checksOffset(launch.buffers.length, launch.scalars.length);
    const report = (memory.block + loaded.layout.launches[index] + offset) >>> 2;
    const number = i32[report];
    i32[report] = 0;
    const value = i32[report + 2 * number + 1] * 2 ** 32 + (i32[report + 2 * number] >>> 0);
    const check = checksOf(kernels[launch.kernel]).list[number - 1];
    return valueError(checkAt(check, sizeAt), value);
  }

  /** Address of element 0 of a buffer in the current run. */
  #addressOf(buffer: number): number {
    const { source } = this.#program.buffers()[buffer];
    const { layout } = this.#program.loaded;
    const { block, constants } = this.#program.memory;
    if (source.kind === 'constant') return constants[source.index];
    if (source.kind === 'arena') return this.#arena + source.offset;
    const slot =
      block + (source.kind === 'input' ? layout.inputs : layout.outputs) + 4 * source.index;
    return this.#heap.i32[slot >>> 2] >>> 0;
  }

  #explain(error: unknown): unknown {
    if (!(error instanceof WebAssembly.RuntimeError)) return error;
    if (threadPool().threads > 1) threadPool().abandonJob();
    return this.#trapped(error);
  }

  #trapped(cause: Error | null): TesseraError {
    const detail = cause === null ? 'on a worker thread' : cause.message;
    return new TesseraError(
      'kernel-trap',
      `cpu: a kernel of ${this.plan.name} was stopped by the WebAssembly engine: ${detail}.`,
      {
        hints: [
          'Indices are checked, so this is a plan or lowering that computes a place outside its buffers: run it with interpretPlan, which names it.',
        ],
        cause,
      },
    );
  }

  #afterDispose(): TesseraError {
    return new TesseraError(
      'use-after-dispose',
      `cpu: plan ${this.plan.name} was run after dispose().`,
      {
        hints: ['Load the plan again, or dispose it later.'],
      },
    );
  }
}

/** Element size of each argument; an argument that no kernel uses has none. */
export function argumentSizes(
  plan: PlanOutline,
  kind: 'input' | 'output',
  count: number,
): number[] {
  const sizes = new Array<number>(count).fill(0);
  for (const { dtype, source } of plan.buffers)
    if (source.kind === kind) sizes[source.index] = itemSize(dtype);
  return sizes;
}
