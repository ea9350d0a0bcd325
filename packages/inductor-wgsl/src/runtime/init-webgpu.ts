/**
 * @file `initWebGpu`: gets a device and makes 'wgpu' usable for tensors and compiled code.
 */
import { TesseraError } from '@tessera/shared';
import type { ExecutionPlan } from '@tessera/inductor-core';
import { registerDevice } from '@tessera/tensor';
import { findGpu } from './find-gpu.js';
import { GpuContext, type DeviceProfile } from './gpu-context.js';
import { tuneMatmuls, type TileTiming } from './matmul-tuner.js';
import { WgpuRuntime } from './wgpu-runtime.js';
import { WgslBackend } from './wgsl-backend.js';

/** Options of {@link initWebGpu}. */
export interface WebGpuOptions {
  /** Adapter to use instead of requesting one. It must not have given a device yet. */
  readonly adapter?: GPUAdapter;
  /** Device to use as it is, with its limits and features. */
  readonly device?: GPUDevice;
  readonly powerPreference?: GPUPowerPreference;
  /** Makes code for GPUs or for adapters that run on the CPU; found out from the adapter if absent. */
  readonly profile?: DeviceProfile;
  /** Most bytes that tensors and scratch memory may take. Unlimited if absent: WebGPU does not tell. */
  readonly memoryBudget?: number;
  /**
   * Flags for Dawn in Node, as `['enable-dawn-features=allow_unsafe_apis,vulkan_enable_f16_on_nvidia']`,
   * which gives `shader-f16` on NVIDIA.
   */
  readonly dawnFlags?: readonly string[];
}

/**
 * SwiftShader compiles the clearing of workgroup memory as one store per element: a second for a matmul.
 * Without this extension Dawn clears in a loop.
 */
const SWIFTSHADER_FLAGS = [
  'disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension',
];

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

/**
 * Gets a WebGPU device and registers device 'wgpu' and its backend.
 *
 * @throws device-unavailable when there is no WebGPU or no adapter
 */
export async function initWebGpu(options: WebGpuOptions = {}): Promise<WebGpu> {
  const context = await openContext(options);
  const runtime = new WgpuRuntime(context, { memoryBudget: options.memoryBudget ?? Infinity });
  registerDevice(runtime);
  return new WebGpu(runtime);
}

async function openContext(options: WebGpuOptions): Promise<GpuContext> {
  const { profile, dawnFlags, powerPreference = 'high-performance' } = options;
  if (options.device !== undefined) return GpuContext.wrap(options.device, profile);
  if (options.adapter !== undefined) return GpuContext.request(null, options.adapter, profile);
  let gpu = await findGpu(dawnFlags ?? []);
  let adapter = await gpu.requestAdapter({ powerPreference });
  if (adapter?.info.architecture === 'swiftshader' && dawnFlags === undefined) {
    gpu = await findGpu(SWIFTSHADER_FLAGS);
    adapter = await gpu.requestAdapter({ powerPreference });
  }
  if (adapter === null) {
    throw new TesseraError(
      'device-unavailable',
      'WebGPU is there, but it offers no adapter: no GPU driver that it can use was found.',
      {
        context: { device: 'wgpu' },
        hints: [
          'On Linux, check that Vulkan works: `vulkaninfo --summary`.',
          'Without a GPU, SwiftShader (part of Chromium) can stand in: set VK_ICD_FILENAMES to its vk_swiftshader_icd.json.',
        ],
      },
    );
  }
  return GpuContext.request(gpu, adapter, profile);
}
