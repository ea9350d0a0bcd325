/**
 * @file `initWebGpu`: gets a device and makes 'wgpu' usable for tensors and compiled code.
 */
import type { TesseraError } from '@tessera/shared';
import type { ExecutionPlan } from '@tessera/inductor-core';
import { registerDevice } from '@tessera/tensor';
import { current } from './current-gpu.js';
import { tuneMatmuls, type TileTiming } from '../matmul-tuner.js';
import { type WebGpuOptions, asksForSame, openContext } from './open-context.js';
import { WgpuRuntime } from './wgpu-runtime.js';
import { WgslBackend } from '../wgsl-backend.js';

/** WebGPU as set up by {@link initWebGpu}. */
export class WebGpu {
  readonly backend: WgslBackend;

  constructor(readonly runtime: WgpuRuntime) {
    this.backend = new WgslBackend(runtime);
  }

  get device(): GPUDevice {
    return this.runtime.context.device;
  }

  /** Vendor, architecture and device as the adapter gives them. */
  get adapterName(): string {
    return this.runtime.context.adapterName;
  }

  /** Whether the device is gone: lost, or disposed of. */
  get isLost(): boolean {
    return this.runtime.context.isLost;
  }

  /**
   * Calls `listener` once when the device is lost, with the error that later use throws; soon, if it is lost already.
   * `dispose()` is no loss.
   *
   * @returns takes the listener back
   * @example
   * gpu.onLost(async () => {
   *   await initWebGpu();
   *   model.loadStateDict(await checkpoint(), { assign: true });
   * });
   */
  onLost(listener: (loss: TesseraError) => void): () => void {
    return this.runtime.context.onLost(listener);
  }

  /** Measures matmul tiles for a plan; later loads use the winners. Takes seconds. */
  tuneMatmuls(plan: ExecutionPlan): Promise<TileTiming[]> {
    return tuneMatmuls(this.runtime, plan, this.backend.tiles);
  }

  /** Resolves when what `mode: 'max-autotune'` measures for the functions compiled so far is known. */
  tuned(): Promise<void> {
    return this.backend.tuned();
  }

  /** Resolves when all enqueued work is done. @throws what WebGPU reported since the last check */
  synchronize(): Promise<void> {
    return this.runtime.synchronize();
  }

  /** Destroys the device and all memory on it. */
  dispose(): void {
    this.runtime.dispose();
  }
}

/** What was opened last, with the options that it was opened with. */
let last: { readonly gpu: WebGpu; readonly options: WebGpuOptions } | null = null;
/** One call after the other, so that two at once get the same device. */
let opening: Promise<unknown> = Promise.resolve();

/**
 * Gets a WebGPU device and registers device 'wgpu' and its backend.
 *
 * A later call gives the same device while it is there and is what the options ask for; options that are absent ask
 * for nothing, and a `memoryBudget` is set on the device at hand. Otherwise another device takes its place: tensors of
 * the earlier one stay with it, and compiled functions follow the tensors that they are called with.
 *
 * @throws device-unavailable when there is no WebGPU or no adapter
 */
export function initWebGpu(options: WebGpuOptions = {}): Promise<WebGpu> {
  const opened = opening.then(() => open(options));
  opening = opened.catch(() => undefined);
  return opened;
}

async function open(options: WebGpuOptions): Promise<WebGpu> {
  const { memoryBudget } = options;
  if (last !== null && !last.gpu.isLost && asksForSame(last.gpu.device, last.options, options)) {
    const { gpu } = last;
    if (memoryBudget !== undefined) gpu.runtime.pool.budget = memoryBudget;
    return gpu;
  }
  const context = await openContext(options);
  const runtime = new WgpuRuntime(context, { memoryBudget: memoryBudget ?? Infinity });
  registerDevice(runtime);
  const gpu = new WebGpu(runtime);
  last = { gpu, options };
  current.gpu = gpu;
  return gpu;
}
