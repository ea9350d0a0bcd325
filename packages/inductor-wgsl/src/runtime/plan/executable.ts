/**
 * @file `WgslExecutable`: a plan loaded on a device.
 */
import { TesseraError } from '@tessera/shared';
import {
  type ArgumentCheck,
  type Executable,
  type ExecutionPlan,
  type KernelSource,
  type PlanOutput,
  type SizeValue,
  boundTo,
} from '@tessera/inductor-core';
import type { Tensor } from '@tessera/tensor';
import { storageExtent } from '@tessera/tensor/internal';
import { workgroupsAt } from '../../codegen/dispatch.js';
import type { Residence, SizedLaunch } from './launch.js';
import type { OutputMemory } from './output-memory.js';
import type { PlanMemory } from './plan-memory.js';
import type { PlanRoutes, RoutedPlan } from './plan-routes.js';
import { ScalarBlocks } from './scalar-blocks.js';
import { pieceBytes } from './scratch-plan.js';
import type { Slab } from '../memory/slab.js';
import { WgpuMemory } from '../memory/wgpu-memory.js';
import type { WgpuRuntime } from '../device/wgpu-runtime.js';

/** What an executable is made of. */
export interface ExecutableParts {
  readonly routes: PlanRoutes;
  /** Elements of each buffer. */
  readonly numels: readonly number[];
  /** Layouts of the outputs. */
  readonly outputs: readonly PlanOutput[];
  /** The plan with kernels of its sizes. */
  readonly plan: () => ExecutionPlan;
  readonly memory: PlanMemory;
  /** Values of sizes in the kernels. */
  readonly sizeAt?: SizeValue;
  readonly check?: ArgumentCheck | null | undefined;
  /** Whether the memory is of no use after it. */
  readonly ownsMemory: boolean;
}

/** See the file header. */
export class WgslExecutable implements Executable {
  private readonly launches: readonly SizedLaunch[];
  private readonly residence: Residence;
  /** Bytes of each piece of scratch memory. */
  private readonly scratch: readonly number[];
  private readonly outputMemory: readonly OutputMemory[];
  private readonly blocks: ScalarBlocks;
  /** The version of the scratch memory that it has. */
  private version = -1;
  private disposed = false;

  constructor(
    private readonly runtime: WgpuRuntime,
    private readonly parts: ExecutableParts,
  ) {
    const { routes, numels, outputs, memory: home, sizeAt = Number } = parts;
    const { plan, code, itemSizes } = routes;
    this.scratch = pieceBytes(routes.pieces, routes.bytesOf(numels));
    this.outputMemory = outputs.map(({ dtype, sizes, strides }, index) =>
      home.output(index, storageExtent(sizes, strides) * runtime.itemSize(dtype)),
    );
    this.blocks = new ScalarBlocks(runtime.uniforms, runtime.stream, sizeAt);
    const memory: WgpuMemory[] = [];
    for (const [buffer, index] of routes.constants) memory[buffer] = home.constants[index];
    this.residence = { memory, byte: itemSizes.map(() => 0) };
    this.placeScratch();
    const workgroups = code.programs.map((program) => workgroupsAt(program.workgroups, sizeAt));
    this.launches = plan.launches.map(({ kernel, times = 1 }) => ({
      workgroups: workgroups[kernel],
      times: sizeAt(times),
      blocks: this.blocks,
    }));
    // Compiling here rather than in the first run keeps that run's time its own.
    routes.compile((kernel) => workgroups[kernel][0] > 0);
  }

  get plan(): ExecutionPlan {
    return this.parts.plan();
  }

  get sources(): readonly KernelSource[] {
    return this.parts.routes.code.sources;
  }

  get launchOrigins(): readonly number[] | undefined {
    return this.parts.routes.plan.launchOrigins;
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
    const { runtime, residence, launches } = this;
    const { routes } = this.parts;
    if (this.disposed) throw disposedPlan(routes.plan);
    runtime.context.check();
    this.parts.check?.(inputs, outputs, scalars);
    this.place('input', routes.inputs, inputs);
    this.place('output', routes.outputs, outputs);
    if (runtime.pool.failures > 0 || this.version !== this.parts.memory.version)
      this.placeScratch();
    const alone = runtime.pool.unproven > 0 && residence.memory.some(isUnproven);
    if (alone) runtime.stream.flush();
    this.blocks.begin();
    for (let i = 0; i < launches.length; i++)
      routes.launches[i].encode(residence, scalars, launches[i]);
    for (const memory of residence.memory) if (memory !== undefined) runtime.stream.touch(memory);
    if (alone) runtime.stream.flush();
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    if (this.parts.ownsMemory) this.parts.memory.dispose();
  }

  /** Takes scratch memory, also where it was moved or was not to be had before. @throws out-of-memory */
  private placeScratch(): void {
    const { memory, routes } = this.parts;
    routes.pieces.forEach((piece, index) => {
      if (piece >= 0) this.residence.memory[index] = memory.scratchAt(piece, this.scratch[piece]);
    });
    this.version = memory.version;
  }

  private place(
    role: 'input' | 'output',
    buffers: readonly (readonly [number, number])[],
    tensors: readonly Tensor[],
  ): void {
    const { residence, runtime } = this;
    const { plan, itemSizes } = this.parts.routes;
    for (const [buffer, index] of buffers) {
      const tensor = tensors[index];
      const { memory } = boundTo(plan, role, index, tensor);
      residence.memory[buffer] = runtime.own(memory!);
      residence.byte[buffer] = tensor.storageOffset * itemSizes[buffer];
    }
  }
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

function disposedPlan(plan: RoutedPlan): TesseraError {
  return new TesseraError(
    'use-after-dispose',
    `Plan '${plan.name}' was disposed of and cannot run.`,
    {
      hints: ['Load it again.'],
    },
  );
}
