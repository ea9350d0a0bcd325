/**
 * @file `LoadedPlan`: a plan on the device of its tensors, also after that device was lost or replaced.
 *
 * Compiled code outlives a device: when the one it was loaded on is gone, or a call brings tensors of the one that
 * `initWebGpu` gave since, the plan is loaded there. Scratch memory and constants are made anew; what was in tensors
 * of the old device is gone, and using one says so.
 */
import type { Executable, ExecutionPlan, FusedKernel, KernelSource } from '@tessera/inductor-core';
import { type Size, TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { current } from '../device/current-gpu.js';
import type { WgslExecutable } from './executable.js';
import { WgpuMemory } from '../memory/wgpu-memory.js';
import type { WgslBackend } from '../wgsl-backend.js';

/** What is loaded: a plan, or a template. */
export interface LoadableSource {
  readonly name: string;
  readonly kernels: readonly FusedKernel<Size>[];
  /** Loads it on a device. @throws out-of-memory */
  on(backend: WgslBackend): WgslExecutable;
}

/** See the file header. */
export class LoadedPlan implements Executable {
  private executable: WgslExecutable;

  constructor(
    private readonly source: LoadableSource,
    private backend: WgslBackend,
  ) {
    this.executable = source.on(backend);
  }

  get plan(): ExecutionPlan {
    return this.executable.plan;
  }

  get sources(): readonly KernelSource[] {
    return this.executable.sources;
  }

  get launchOrigins(): readonly number[] | undefined {
    return this.executable.launchOrigins;
  }

  /** @param sizes what the program of a template computed */
  allocateOutputs(inputs: readonly Tensor[], sizes?: readonly number[]): WgpuMemory[] {
    return this.on(inputs).allocateOutputs(inputs, sizes);
  }

  /** @param sizes what the program of a template computed */
  run(
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    scalars: readonly number[],
    sizes?: readonly number[],
  ): void {
    this.on(inputs).run(inputs, outputs, scalars, sizes);
  }

  dispose(): void {
    this.executable.dispose();
  }

  /** The code for these inputs. @throws device-unavailable when the present device cannot run the plan */
  private on(inputs: readonly Tensor[]): WgslExecutable {
    const { runtime } = this.backend;
    if (!runtime.context.isLost && belongsTo(inputs, runtime.pool)) return this.executable;
    const { gpu } = current;
    if (gpu === null || gpu.runtime === runtime || gpu.runtime.context.isLost)
      return this.executable;
    // A device that still works keeps its code unless this is a call for the other one.
    if (!runtime.context.isLost && !belongsTo(inputs, gpu.runtime.pool)) return this.executable;
    this.move(gpu.backend);
    return this.executable;
  }

  private move(backend: WgslBackend): void {
    const most = Math.max(0, ...this.source.kernels.map(({ params }) => params.length));
    const { maxBuffersPerKernel } = backend.capabilities;
    if (most > maxBuffersPerKernel) {
      throw new TesseraError(
        'device-unavailable',
        `Plan '${this.source.name}' was compiled for another GPU: a kernel of it takes ${most} buffers, and this one offers ${maxBuffersPerKernel}.`,
        {
          context: { buffers: most, limit: maxBuffersPerKernel },
          hints: ['Call reset() of @tessera/compile: functions are then compiled for this GPU.'],
        },
      );
    }
    const before = this.executable;
    this.executable = this.source.on(backend);
    this.backend = backend;
    before.dispose();
  }
}

/** Whether the first input is memory of a pool; a call without inputs belongs anywhere. */
function belongsTo(inputs: readonly Tensor[], pool: WgpuMemory['pool']): boolean {
  const first = inputs[0];
  if (first === undefined) return true;
  const { memory } = first.storage;
  return !(memory instanceof WgpuMemory) || memory.pool === pool;
}
