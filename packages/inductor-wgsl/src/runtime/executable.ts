/**
 * @file `WgslExecutable`: a plan loaded on a device.
 */
import { TesseraError } from '@tessera/shared';
import {
  type ArgumentCheck,
  type Executable,
  type ExecutionPlan,
  type KernelSource,
  type SizeValue,
  boundTo,
} from '@tessera/inductor-core';
import type { Tensor } from '@tessera/tensor';
import { storageExtent } from '@tessera/tensor/internal';
import { workgroupsAt } from '../codegen/dispatch.js';
import type { LaunchedKernel } from '../codegen/joined-kernel.js';
import { KernelLaunch, type Residence } from './launch.js';
import type { OutputMemory } from './output-memory.js';
import type { PlanCode } from './plan-code.js';
import type { PlanMemory } from './plan-memory.js';
import { ScalarBlocks } from './scalar-blocks.js';
import { planScratch } from './scratch-plan.js';
import { SLOT_BYTES, type Slab } from './slab.js';
import { WgpuMemory } from './wgpu-memory.js';
import type { WgpuRuntime } from './wgpu-runtime.js';

/** A plan whose kernels may be for many sizes. */
export interface SizedPlan extends Omit<ExecutionPlan, 'kernels'> {
  readonly kernels: readonly LaunchedKernel[];
  /** See `Executable`. */
  readonly launchOrigins?: readonly number[];
}

/** What an executable is made of. */
export interface ExecutableParts {
  readonly layout: SizedPlan;
  /** The plan with kernels of its sizes. */
  readonly plan: () => ExecutionPlan;
  readonly code: PlanCode;
  readonly memory: PlanMemory;
  /** Values of sizes in the kernels. */
  readonly sizeAt?: SizeValue;
  readonly check?: ArgumentCheck | null | undefined;
  /** Whether the memory is of no use after it. */
  readonly ownsMemory: boolean;
}

/** See the file header. */
export class WgslExecutable implements Executable {
  private readonly launches: readonly KernelLaunch[];
  private readonly residence: Residence;
  /** Scratch memory of the plan's buffers: [buffer, number of the piece, bytes]. */
  private readonly scratch: readonly (readonly [number, number, number])[];
  /** Plan buffers that lie in the caller's tensors: [buffer, index]. */
  private readonly inputs: readonly (readonly [number, number])[];
  private readonly outputs: readonly (readonly [number, number])[];
  private readonly outputMemory: readonly OutputMemory[];
  private readonly blocks: ScalarBlocks;
  private readonly itemSizes: readonly number[];
  /** The version of the scratch memory that it has. */
  private version = -1;
  private disposed = false;

  constructor(
    private readonly runtime: WgpuRuntime,
    private readonly parts: ExecutableParts,
  ) {
    const { layout, code, memory: home, sizeAt = Number } = parts;
    this.itemSizes = layout.buffers.map((buffer) => runtime.itemSize(buffer.dtype));
    const memory: WgpuMemory[] = [];
    const inputs: [number, number][] = [];
    const outputs: [number, number][] = [];
    this.scratch = scratchOf(layout, runtime.context.target.f16);
    for (const [index, { source }] of layout.buffers.entries()) {
      if (source.kind === 'constant') memory[index] = home.constants[source.index];
      else if (source.kind === 'input') inputs.push([index, source.index]);
      else if (source.kind === 'output') outputs.push([index, source.index]);
    }
    this.inputs = inputs;
    this.outputs = outputs;
    this.outputMemory = layout.outputs.map(({ dtype, sizes, strides }, index) =>
      home.output(index, storageExtent(sizes, strides) * runtime.itemSize(dtype)),
    );
    this.blocks = new ScalarBlocks(runtime.uniforms, runtime.stream, sizeAt);
    this.residence = { memory, byte: layout.buffers.map(() => 0) };
    this.placeScratch();
    const workgroups = code.programs.map((program) => workgroupsAt(program.workgroups, sizeAt));
    this.launches = layout.launches.map(
      (launch) =>
        new KernelLaunch(
          runtime,
          layout.kernels[launch.kernel],
          launch,
          code.variants[launch.kernel],
          this.blocks,
          workgroups[launch.kernel],
        ),
    );
    // Compiling here rather than in the first run keeps that run's time its own.
    for (const kernel of boundDirectly(layout, runtime))
      if (workgroups[kernel][0] > 0)
        runtime.pipelines.get(code.programs[kernel], layout.kernels[kernel].name);
  }

  get plan(): ExecutionPlan {
    return this.parts.plan();
  }

  get sources(): readonly KernelSource[] {
    return this.parts.code.sources;
  }

  get launchOrigins(): readonly number[] | undefined {
    return this.parts.layout.launchOrigins;
  }

  allocateOutputs(inputs: readonly Tensor[]): WgpuMemory[] {
    const { outputMemory } = this;
    this.runtime.context.check();
    // Taken again first: what is new must not take what a later output had.
    const taken = outputMemory.map((home) => home.again());
    try {
      const avoid = slabsOf(inputs);
      return taken.map((memory, i) => memory ?? (taken[i] = outputMemory[i].fresh(avoid)));
    } catch (error) {
      for (const memory of taken) if (memory !== null) this.runtime.free(memory);
      throw error;
    }
  }

  run(inputs: readonly Tensor[], outputs: readonly Tensor[], scalars: readonly number[]): void {
    const { runtime, residence } = this;
    if (this.disposed) throw disposedPlan(this.parts.layout);
    runtime.context.check();
    this.parts.check?.(inputs, outputs, scalars);
    this.place('input', this.inputs, inputs);
    this.place('output', this.outputs, outputs);
    if (runtime.pool.failures > 0 || this.version !== this.parts.memory.version)
      this.placeScratch();
    const alone = runtime.pool.unproven > 0 && residence.memory.some(isUnproven);
    if (alone) runtime.stream.flush();
    this.blocks.begin();
    for (const launch of this.launches) launch.encode(residence, scalars);
    for (const memory of residence.memory) if (memory !== undefined) runtime.stream.touch(memory);
    if (alone) runtime.stream.flush();
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    if (!this.parts.ownsMemory) return;
    this.parts.memory.dispose();
    for (const home of this.outputMemory) home.close();
  }

  /** Takes scratch memory, also where it was moved or was not to be had before. @throws out-of-memory */
  private placeScratch(): void {
    const { memory } = this.parts;
    for (const [index, piece, bytes] of this.scratch)
      this.residence.memory[index] = memory.scratchAt(piece, bytes);
    this.version = memory.version;
  }

  private place(
    role: 'input' | 'output',
    buffers: readonly (readonly [number, number])[],
    tensors: readonly Tensor[],
  ): void {
    const { residence, runtime } = this;
    for (const [buffer, index] of buffers) {
      const tensor = tensors[index];
      const { memory } = boundTo(this.parts.layout, role, index, tensor);
      residence.memory[buffer] = runtime.own(memory!);
      residence.byte[buffer] = tensor.storageOffset * this.itemSizes[buffer];
    }
  }
}

/** Kernels of a plan that bind whole buffers. What those with small outputs bind is known when they run. */
export function boundDirectly(
  { buffers, launches }: Pick<SizedPlan, 'buffers' | 'launches'>,
  runtime: Pick<WgpuRuntime, 'itemSize'>,
): ReadonlySet<number> {
  const isSmallOutput = (buffer: number): boolean => {
    const { source, numel, dtype } = buffers[buffer];
    return source.kind === 'output' && numel * runtime.itemSize(dtype) <= SLOT_BYTES;
  };
  const direct = launches.filter((launch) => !launch.buffers.some(isSmallOutput));
  return new Set(direct.map(({ kernel }) => kernel));
}

function isUnproven(memory: WgpuMemory | undefined): boolean {
  return memory !== undefined && memory.isUnproven;
}

/** Slabs that inputs lie in: a kernel should not write into them. */
function slabsOf(tensors: readonly Tensor[]): ReadonlySet<Slab> | null {
  let slabs: Set<Slab> | null = null;
  for (const { storage } of tensors) {
    const { memory } = storage;
    if (memory instanceof WgpuMemory && memory.slab !== null)
      (slabs ??= new Set()).add(memory.slab);
  }
  return slabs;
}

/** Scratch memory of a plan's buffers; those with lifetimes apart share one. */
function scratchOf(layout: SizedPlan, f16: boolean): (readonly [number, number, number])[] {
  const { sizes, slots } = planScratch(layout, f16);
  const largestFirst = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a]);
  const pieces = new Map(largestFirst.map((slot, piece) => [slot, piece]));
  return slots.flatMap((slot, index) =>
    slot < 0 ? [] : [[index, pieces.get(slot)!, sizes[slot]] as const],
  );
}

function disposedPlan(plan: SizedPlan): TesseraError {
  return new TesseraError(
    'use-after-dispose',
    `Plan '${plan.name}' was disposed of and cannot run.`,
    {
      hints: ['Load it again.'],
    },
  );
}
