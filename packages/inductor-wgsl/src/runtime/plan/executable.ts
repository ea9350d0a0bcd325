/**
 * @file `WgslExecutable`: a plan loaded on a device.
 */
import { TesseraError } from '@tessera/shared';
import {
  type ArgumentCheck,
  type Executable,
  type ExecutionPlan,
  type KernelSource,
  boundTo,
} from '@tessera/inductor-core';
import type { Tensor } from '@tessera/tensor';
import type { PlanMemory } from './plan-memory.js';
import type { PlanRoutes, RoutedPlan } from './plan-routes.js';
import type { Slab } from '../memory/slab.js';
import { WgpuMemory } from '../memory/wgpu-memory.js';
import type { WgpuRuntime } from '../device/wgpu-runtime.js';

/** What an executable is made of. */
export interface ExecutableParts {
  readonly routes: PlanRoutes;
  /** What the program of sizes computed for the first run of a template; nothing for a plan. */
  readonly computed: readonly number[];
  /** The plan with kernels of its sizes. */
  readonly plan: () => ExecutionPlan;
  readonly memory: PlanMemory;
  readonly check?: ArgumentCheck | null | undefined;
  /** Whether the memory is of no use after it. */
  readonly ownsMemory: boolean;
}

/** See the file header. A template has one for all sizes, which are named in every call. */
export class WgslExecutable implements Executable {
  /** The sizes of the last run, and what was computed of them: a plan has no others. */
  private given: readonly number[];
  private computed: readonly number[];
  /** For what scratch memory was placed, and its version. */
  private placed: readonly number[] | null = null;
  private version = -1;
  private disposed = false;

  constructor(
    private readonly runtime: WgpuRuntime,
    private readonly parts: ExecutableParts,
  ) {
    const { routes, computed } = parts;
    this.given = computed;
    this.computed = routes.complete(computed);
    this.placeScratch(this.computed);
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

  /** @param sizes what the program of a template computed */
  allocateOutputs(inputs: readonly Tensor[], sizes: readonly number[] = this.given): WgpuMemory[] {
    const { routes, memory: home } = this.parts;
    this.runtime.context.check();
    const outputBytes = routes.outputBytes(this.at(sizes));
    // Taken again first: what is new must not take what a later output had.
    const taken = outputBytes.map((bytes, i) => home.output(i).again(bytes));
    try {
      const avoid = slabsOf(inputs);
      return taken.map(
        (memory, i) => memory ?? (taken[i] = home.output(i).fresh(outputBytes[i], avoid)),
      );
    } catch (error) {
      for (const memory of taken) if (memory !== null) this.runtime.free(memory);
      throw error;
    }
  }

  /** @param sizes what the program of a template computed */
  run(
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    scalars: readonly number[],
    sizes: readonly number[] = this.given,
  ): void {
    const { runtime } = this;
    const { routes, memory } = this.parts;
    const { residence, launches } = routes;
    if (this.disposed || memory.isFreed) throw disposedPlan(routes.plan);
    runtime.context.check();
    this.parts.check?.(inputs, outputs, scalars);
    this.place('input', routes.inputs, inputs);
    this.place('output', routes.outputs, outputs);
    const computed = this.at(sizes);
    if (runtime.pool.failures > 0 || computed !== this.placed || this.version !== memory.version)
      this.placeScratch(computed);
    const alone = runtime.pool.unproven > 0 && residence.memory.some(isUnproven);
    if (alone) runtime.stream.flush();
    routes.blocks.begin();
    const numbers = { scalars, computed };
    for (let i = 0; i < launches.length; i++) launches[i].encode(residence, numbers);
    for (const used of residence.memory) if (used !== undefined) runtime.stream.touch(used);
    if (alone) runtime.stream.flush();
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    if (this.parts.ownsMemory) this.parts.memory.dispose();
  }

  /** What is computed at sizes; variants of kernels and later devices may have taken more slots. @throws plan-invalid */
  private at(sizes: readonly number[]): readonly number[] {
    const { routes } = this.parts;
    if (sizes !== this.given || this.computed.length !== routes.program.length) {
      this.computed = routes.complete(sizes);
      this.given = sizes;
    }
    return this.computed;
  }

  /** @throws out-of-memory */
  private placeScratch(computed: readonly number[]): void {
    const { routes, memory } = this.parts;
    this.placed = null;
    routes.placeScratch(computed);
    this.placed = computed;
    this.version = memory.version;
  }

  private place(
    role: 'input' | 'output',
    buffers: readonly (readonly [number, number])[],
    tensors: readonly Tensor[],
  ): void {
    const { runtime } = this;
    const { plan, itemSizes, residence } = this.parts.routes;
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
