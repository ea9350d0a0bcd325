/**
 * @file The device that `initWebGpu` gave last: where code of a device that is gone is loaded again.
 */
import type { WgpuRuntime } from './wgpu-runtime.js';
import type { WgslBackend } from '../wgsl-backend.js';

/** A device in use. */
export interface GpuInUse {
  readonly runtime: WgpuRuntime;
  readonly backend: WgslBackend;
}

/** `gpu` is null before the first device. */
export const current: { gpu: GpuInUse | null } = { gpu: null };
