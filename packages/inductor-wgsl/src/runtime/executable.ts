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
import { type DType, type Tensor } from '@tessera/tensor';
import { storageExtent } from '@tessera/tensor/internal';
import type { WgslProgram } from '../codegen/program.js';
import { directVariant, variantKey, type KernelVariant } from '../codegen/variant.js';
import { hostBytes } from './host-bytes.js';
import { KernelLaunch, type Residence } from './launch.js';
import { OutputMemory } from './output-memory.js';
import { ScalarBlocks } from './scalar-blocks.js';
import { planScratch } from './scratch-plan.js';
import { SLOT_BYTES, type Slab } from './slab.js';
import { WgpuMemory } from './wgpu-memory.js';
import type { WgpuRuntime } from './wgpu-runtime.js';

/** Code generation as the executable needs it. */
export type Generator = (kernel: number, variant?: KernelVariant) => WgslProgram;

/** See the file header. */
export class WgslExecutable implements Executable {
  readonly sources: readonly KernelSource[];
  private readonly launches: readonly KernelLaunch[];
  private readonly residence: Residence;
  private readonly scratch: WgpuMemory[];
  private readonly constants: readonly WgpuMemory[];
  /** Plan buffers that lie in the caller's tensors: [buffer, index]. */
  private readonly inputs: readonly (readonly [number, number])[];
  private readonly outputs: readonly (readonly [number, number])[];
  private readonly outputMemory: readonly OutputMemory[];
  private readonly blocks: ScalarBlocks;
  private readonly itemSizes: readonly number[];
  private disposed = false;

  constructor(
    private readonly runtime: WgpuRuntime,
    readonly plan: ExecutionPlan,
    generate: Generator,
    private readonly check: ArgumentCheck | null = null,
  ) {
    const { f16 } = runtime.context.target;
    const programs = plan.kernels.map((_, index) => generate(index));
    this.sources = plan.kernels.map((kernel, index) => ({
      kernel: kernel.name,
      language: 'wgsl',
      text: programs[index].text,
    }));
    const { sizes, slots } = planScratch(plan, f16);
    this.scratch = sizes.map((bytes) => runtime.allocate(bytes));
    this.constants = plan.constants.map((constant) =>
      uploadConstant(runtime, constant.dtype, constant.values),
    );
    this.itemSizes = plan.buffers.map((buffer) => runtime.itemSize(buffer.dtype));
    const memory: WgpuMemory[] = [];
    const inputs: [number, number][] = [];
    const outputs: [number, number][] = [];
    for (const [index, { source }] of plan.buffers.entries()) {
      if (source.kind === 'arena') memory[index] = this.scratch[slots[index]];
      else if (source.kind === 'constant') memory[index] = this.constants[source.index];
      else if (source.kind === 'input') inputs.push([index, source.index]);
      else outputs.push([index, source.index]);
    }
    this.inputs = inputs;
    this.outputs = outputs;
    this.outputMemory = plan.outputs.map(({ dtype, sizes, strides }) => {
      const bytes = storageExtent(sizes, strides) * runtime.itemSize(dtype);
      return new OutputMemory(runtime.pool, bytes);
    });
    this.blocks = new ScalarBlocks(runtime.uniforms, runtime.stream);
    this.residence = { memory, byte: plan.buffers.map(() => 0) };
    const variants = plan.kernels.map((kernel, index) => {
      const direct = variantKey(directVariant(kernel.params.length));
      const made = new Map<string, WgslProgram>([[direct, programs[index]]]);
      return (variant: KernelVariant, key: string): WgslProgram => {
        let program = made.get(key);
        if (program === undefined) made.set(key, (program = generate(index, variant)));
        return program;
      };
    });
    this.launches = plan.launches.map(
      (launch) =>
        new KernelLaunch(
          runtime,
          plan.kernels[launch.kernel],
          launch,
          variants[launch.kernel],
          this.blocks,
          programs[launch.kernel].workgroups[0] === 0,
        ),
    );
    // Compiling here rather than in the first run keeps that run's time its own. What kernels with small
    // outputs bind is not known yet.
    for (const launch of plan.launches) {
      const program = programs[launch.kernel];
      if (program.workgroups[0] > 0 && !launch.buffers.some((buffer) => this.isSmallOutput(buffer)))
        runtime.pipelines.get(program, plan.kernels[launch.kernel].name);
    }
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
    if (this.disposed) throw disposedPlan(this.plan);
    runtime.context.check();
    this.check?.(inputs, outputs, scalars);
    this.place('input', this.inputs, inputs);
    this.place('output', this.outputs, outputs);
    if (runtime.pool.failures > 0) this.replaceFailed();
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
    for (const memory of [...this.scratch, ...this.constants]) this.runtime.free(memory);
    for (const home of this.outputMemory) home.close();
  }

  /** Asks again for scratch memory that was not to be had. @throws out-of-memory */
  private replaceFailed(): void {
    const { scratch, residence, runtime } = this;
    for (const [slot, failed] of scratch.entries()) {
      if (failed.failure === null) continue;
      const again = runtime.allocate(failed.bytes);
      scratch[slot] = again;
      for (const [i, memory] of residence.memory.entries())
        if (memory === failed) residence.memory[i] = again;
      runtime.free(failed);
    }
  }

  private isSmallOutput(buffer: number): boolean {
    const { source, numel } = this.plan.buffers[buffer];
    return source.kind === 'output' && numel * this.itemSizes[buffer] <= SLOT_BYTES;
  }

  private place(
    role: 'input' | 'output',
    buffers: readonly (readonly [number, number])[],
    tensors: readonly Tensor[],
  ): void {
    const { residence, runtime } = this;
    for (const [buffer, index] of buffers) {
      const tensor = tensors[index];
      const { memory } = boundTo(this.plan, role, index, tensor);
      residence.memory[buffer] = runtime.own(memory!);
      residence.byte[buffer] = tensor.storageOffset * this.itemSizes[buffer];
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

function uploadConstant(runtime: WgpuRuntime, dtype: DType, values: readonly number[]): WgpuMemory {
  const memory = runtime.allocate(values.length * runtime.itemSize(dtype));
  runtime.upload(memory, 0, dtype, hostBytes(dtype, values));
  return memory;
}

function disposedPlan(plan: ExecutionPlan): TesseraError {
  return new TesseraError(
    'use-after-dispose',
    `Plan '${plan.name}' was disposed of and cannot run.`,
    {
      hints: ['Load it again.'],
    },
  );
}
