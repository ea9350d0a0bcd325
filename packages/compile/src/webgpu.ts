/**
 * @file Public API of `@tessera/compile/webgpu`: WebGPU for compiled and eager tensors.
 *
 * An import of its own, so that a page decides when it loads the WGSL backend: pages that never name `initWebGpu`
 * leave it out, `import { initWebGpu } from '@tessera/compile'` has it in the page's own script, and
 * `await import('@tessera/compile/webgpu')` makes it a file that is loaded on demand. The library itself splits
 * nothing: classic scripts and workers cannot be split.
 */
import { type WebGpu, type WebGpuOptions, initWebGpu as openWebGpu } from '@tessera/inductor-wgsl';
import { registerKernelBackend } from './device-backends.js';

export type { WebGpu, WebGpuOptions };

/**
 * Gets a WebGPU device (Dawn in Node, `navigator.gpu` in browsers) and makes `'wgpu'` usable for tensors,
 * eager ops and compiled functions.
 *
 * @throws device-unavailable when there is no WebGPU or no adapter
 */
export async function initWebGpu(options: WebGpuOptions = {}): Promise<WebGpu> {
  const gpu = await openWebGpu(options);
  registerKernelBackend(gpu.backend);
  return gpu;
}
