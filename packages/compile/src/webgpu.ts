/**
 * @file WebGPU for compiled and eager tensors.
 *
 * The WGSL backend is loaded here and nowhere else, so that a page that computes on the CPU never
 * downloads it: bundlers make it a file of its own.
 */
import type { WebGpu, WebGpuOptions } from '@tessera/inductor-wgsl';
import { registerKernelBackend } from './device-backends.js';

/**
 * Gets a WebGPU device (Dawn in Node, `navigator.gpu` in browsers) and makes `'wgpu'` usable for tensors,
 * eager ops and compiled functions.
 *
 * @throws device-unavailable when there is no WebGPU or no adapter
 */
export async function initWebGpu(options: WebGpuOptions = {}): Promise<WebGpu> {
  const backend = await import('@tessera/inductor-wgsl');
  const gpu = await backend.initWebGpu(options);
  registerKernelBackend(gpu.backend);
  return gpu;
}
