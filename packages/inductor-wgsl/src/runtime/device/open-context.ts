/**
 * @file `openContext`: a device as the options of `initWebGpu` ask for it, and whether two of them ask for the same.
 */
import { TesseraError } from '@tessera/shared';
import { findGpu } from './find-gpu.js';
import { GpuContext, type DeviceProfile } from './gpu-context.js';

/** Options of `initWebGpu`. */
export interface WebGpuOptions {
  /** Adapter to use instead of requesting one. It must not have given a device yet, but to `initWebGpu`. */
  readonly adapter?: GPUAdapter;
  /** Device to use as it is, with its limits and features. */
  readonly device?: GPUDevice;
  readonly powerPreference?: 'low-power' | 'high-performance';
  /** Makes code for GPUs or for adapters that run on the CPU; found out from the adapter if absent. */
  readonly profile?: DeviceProfile;
  /** Most bytes that tensors and scratch memory may take. Unlimited if absent: WebGPU does not tell. */
  readonly memoryBudget?: number;
  /**
   * Flags for Dawn in Node, as `['enable-dawn-features=allow_unsafe_apis,vulkan_enable_f16_on_nvidia']`,
   * which gives `shader-f16` and subgroup matrices on NVIDIA.
   */
  readonly dawnFlags?: readonly string[];
}

/**
 * SwiftShader compiles the clearing of workgroup memory as one store per element: a second for a matmul.
 * Without this extension Dawn clears in a loop.
 */
const SWIFTSHADER_FLAG =
  'disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension';

const POWER = 'high-performance';

/** A device with what was asked for. @throws device-unavailable */
export async function openContext(options: WebGpuOptions): Promise<GpuContext> {
  const { profile, dawnFlags = [], powerPreference = POWER } = options;
  if (options.device !== undefined) return GpuContext.wrap(options.device, profile);
  if (options.adapter !== undefined) return GpuContext.request(null, options.adapter, profile);
  let gpu = await findGpu(dawnFlags);
  let adapter = await gpu.requestAdapter({ powerPreference });
  const isDecided = dawnFlags.some((flag) => flag.startsWith('disable-dawn-features'));
  if (adapter?.info.architecture === 'swiftshader' && !isDecided) {
    gpu = await findGpu([...dawnFlags, SWIFTSHADER_FLAG]);
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

/** Whether a device opened with `before` is what `options` ask for. A budget is no property of the device. */
export function asksForSame(
  device: GPUDevice,
  before: WebGpuOptions,
  options: WebGpuOptions,
): boolean {
  const { adapter, profile, powerPreference, dawnFlags } = options;
  return (
    (options.device === undefined || options.device === device) &&
    (adapter === undefined || adapter === before.adapter) &&
    (profile === undefined || profile === before.profile) &&
    (powerPreference === undefined || powerPreference === (before.powerPreference ?? POWER)) &&
    (dawnFlags === undefined || dawnFlags.join() === before.dawnFlags?.join())
  );
}
