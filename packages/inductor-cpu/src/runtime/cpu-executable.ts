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
import { type Tensor, cpuHeap, itemSize } from '@tessera/tensor';
import { valueError } from '@tessera/tensor/internal';
import { checksOffset } from '../wasm-kernel.js';
import { runExtern } from './extern-calls.js';
import type { LoadedModule, Sharable } from './load-plan.js';
import type { PlanOutline } from './plan-layout.js';
import { threadPool } from './thread-pool.js';

/** A plan block in the heap, and what runs with it must know. */
export interface PlanBlock extends Sharable {
  readonly address: number;
  /** For what it is written: a list, whatever is in it. */
  readonly computed: readonly number[];
  readonly arenaBytes: number;
}

/** What a plan is at some sizes, for those who ask: a run whose kernels are all generated does not. */
export interface PlanNumbers {
  readonly plan: ExecutionPlan;
  /** Values of the sizes in checks of kernels. */
  readonly sizeAt: SizeValue;
  /** Buffers with their sizes, and their places in a plan that is no template. */
  readonly buffers: readonly PlanBuffer[];
  externAt(kernel: number): ExternKernel;
}

/** What executables run: one of a plan, or one for each choice of a template's sizes. */
export interface CpuProgram {
  /** Kernels as their code was generated from, by whose checks reports are numbered. */
  readonly kernels: PlanOutline['kernels'];
  readonly launches: ExecutionPlan['launches'];
  /** Bytes of an element of each argument; an argument that no kernel uses has none. */
  readonly inputSizes: readonly number[];
  readonly outputSizes: readonly number[];
  readonly sources: readonly KernelSource[];
  readonly loaded: LoadedModule;
  /** Addresses of the constants. */
  readonly constants: readonly number[];
  /** Gives a block for what a template's program computed; null once memory was freed. */
  readonly blocks: { at(computed: readonly number[]): PlanBlock | null };
  numbersAt(computed: readonly number[]): PlanNumbers;
  /** One of its executables was disposed. */
  onDispose(): void;
}

/** See the file header. */
export class CpuExecutable implements Executable {
  /** The block of the last run, unless it was written for other sizes since. */
  private block: PlanBlock | null = null;
  private known: PlanNumbers | null = null;
  private arena = 0;
  private disposed = false;

  constructor(
    private readonly program: CpuProgram,
    /** What the program of a template computes; empty for a plan. */
    private readonly computed: readonly number[],
  ) {}

  private get numbers(): PlanNumbers {
    return (this.known ??= this.program.numbersAt(this.computed));
  }

  get plan(): ExecutionPlan {
    return this.numbers.plan;
  }

  get sources(): readonly KernelSource[] {
    return this.program.sources;
  }

  run(inputs: readonly Tensor[], outputs: readonly Tensor[], scalars: readonly number[]): void {
    let at = this.block;
    if (at?.computed !== this.computed)
      this.block = at = this.disposed ? null : this.program.blocks.at(this.computed);
    if (at === null) throw this.afterDispose();
    const { loaded, inputSizes, outputSizes } = this.program;
    const { address: block, arenaBytes, parallelNs, parallelLaunches } = at;
    const heap = cpuHeap();
    this.arena = arenaBytes > 0 ? heap.alloc(arenaBytes) : 0;
    try {
      const { layout, segments } = loaded;
      const { i32, f64 } = heap;
      loaded.enter?.(block);
      this.bind('input', i32, (block + layout.inputs) >>> 2, inputs, inputSizes);
      this.bind('output', i32, (block + layout.outputs) >>> 2, outputs, outputSizes);
      i32[(block + layout.arena) >>> 2] = this.arena;
      const scalarSlot = (block + layout.scalars) / 8;
      for (let i = 0; i < scalars.length; i++) f64[scalarSlot + i] = scalars[i];
      const parallel = parallelNs > 0 && threadPool().isWorthwhile(parallelNs) ? 1 : 0;
      // The only segment of a plan without calls of reference kernels needs nothing else.
      const single = segments.length === 1 ? segments[0].run : null;
      const failed = single === null ? this.runSegments(parallel, scalars, at) : single(parallel);
      if (parallel === 1 && threadPool().finishRun(parallelLaunches)) throw this.trapped(null);
      if (failed > 0) throw this.refused(failed - 1, at);
    } catch (error) {
      throw this.explain(error);
    } finally {
      if (arenaBytes > 0) heap.free(this.arena);
    }
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.block = null;
    this.program.onDispose();
  }

  /** Writes the addresses of arguments. Only memory of the heap has one: others never reach a kernel. */
  private bind(
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
  private runSegments(parallel: number, scalars: readonly number[], at: PlanBlock): number {
    const { launches, loaded } = this.program;
    loaded.bind();
    for (const segment of loaded.segments) {
      if (segment.run !== null) {
        const failed = segment.run(parallel);
        if (failed > 0) return failed;
        continue;
      }
      const launch = launches[segment.launch];
      const numbers = this.numbers;
      runExtern(
        numbers.externAt(launch.kernel),
        launch,
        numbers.buffers,
        (buffer) => this.addressOf(buffer, at),
        scalars,
      );
    }
    return 0;
  }

  /** The error for the check that failed in a launch, whose report is taken back. */
  private refused(index: number, { address }: PlanBlock): TesseraError {
    const { launches, kernels, loaded } = this.program;
    const launch = launches[index];
    const { i32 } = cpuHeap();
    const offset = checksOffset(launch.buffers.length, launch.scalars.length);
    const report = (address + loaded.layout.launches[index] + offset) >>> 2;
    const number = i32[report];
    i32[report] = 0;
    const value = i32[report + 2 * number + 1] * 2 ** 32 + (i32[report + 2 * number] >>> 0);
    const check = checksOf(kernels[launch.kernel]).list[number - 1];
    return valueError(checkAt(check, this.numbers.sizeAt), value);
  }

  /** Address of element 0 of a buffer in the current run. */
  private addressOf(buffer: number, { address }: PlanBlock): number {
    const { source } = this.numbers.buffers[buffer];
    const { constants, loaded } = this.program;
    const { layout } = loaded;
    const word = (offset: number): number => cpuHeap().i32[(address + offset) >>> 2];
    if (source.kind === 'constant') return constants[source.index];
    // The block of a template says where its buffers are.
    if (source.kind === 'arena')
      return (
        this.arena + (this.computed.length > 0 ? word(layout.places + 4 * buffer) : source.offset)
      );
    return (
      word((source.kind === 'input' ? layout.inputs : layout.outputs) + 4 * source.index) >>> 0
    );
  }

  private explain(error: unknown): unknown {
    if (!(error instanceof WebAssembly.RuntimeError)) return error;
    if (threadPool().threads > 1) threadPool().abandonJob();
    return this.trapped(error);
  }

  private trapped(cause: Error | null): TesseraError {
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

  private afterDispose(): TesseraError {
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
