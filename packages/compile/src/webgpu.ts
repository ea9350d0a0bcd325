/**
 * @file WebGPU for compiled and eager tensors.
 */
import { type WebGpu, type WebGpuOptions, initWebGpu as initRuntime } from '@tessera/inductor-wgsl';
import { registerKernelBackend } from './device-backends.js';

/**
 * Gets a WebGPU device (Dawn in Node, `navigator.gpu` in browsers) and makes `'wgpu'` usable for tensors,
 * eager ops and compiled functions.
 *
 * @throws device-unavailable when there is no WebGPU or no adapter
 */
export async function initWebGpu(options: WebGpuOptions = {}): Promise<WebGpu> {
  const gpu = await initRuntime(options);
  registerKernelBackend(gpu.backend);
  return gpu;
}
