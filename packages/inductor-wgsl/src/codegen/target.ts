/**
 * @file What generated WGSL may use: the facts about an adapter that code generation depends on.
 *
 * Plain data, so that kernels for any adapter can be generated (and compared as text) anywhere.
 */

import type { TargetDescription, ThreadTarget } from '@tessera/inductor-core';

/** What schedules may know of any adapter. */
export const SCHEDULE_TARGET: TargetDescription = {
  widestFloat: 'float32',
  int64: 'i32',
  separateNan: false,
  comparesNan: false,
  skipsIdleLanes: false,
};

/** Extents of the products that a subgroup computes as a whole: [m, k] @ [k, n], float16 into float32. */
export interface MatrixShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** See the file header. Sizes in bytes, counts in invocations or workgroups. */
export interface WgslTarget {
  /** `shader-f16` is enabled: float16 is stored in 2 bytes. Otherwise it is stored widened, as f32. */
  readonly f16: boolean;
  /** Bounds of the subgroup size, or null when subgroup operations must not be used. */
  readonly subgroups: { readonly min: number; readonly max: number } | null;
  /** Subgroup matrices, if they may be used: subgroups then have one size only, and float16 is stored as such. */
  readonly matrices: MatrixShape | null;
  /** Most storage buffers one kernel may bind. */
  readonly maxStorageBuffers: number;
  readonly maxWorkgroupThreads: number;
  readonly maxWorkgroupBytes: number;
  readonly maxWorkgroupsPerDimension: number;
  /** Most bytes of a buffer that a kernel may see. */
  readonly maxBindingBytes: number;
  /** Workgroups that keep the device busy; tiles shrink and reductions split below it. */
  readonly parallelism: number;
  /**
   * The adapter is a program on the CPU (SwiftShader): threads of a workgroup take turns, so barriers and
   * threads that wait cost time, and nothing is gained by occupying many of them.
   */
  readonly software: boolean;
}

/** The limits that every WebGPU device has. */
export const BASELINE_TARGET: WgslTarget = {
  f16: false,
  subgroups: null,
  matrices: null,
  maxStorageBuffers: 8,
  maxWorkgroupThreads: 256,
  maxWorkgroupBytes: 16384,
  maxWorkgroupsPerDimension: 65535,
  maxBindingBytes: 2 ** 27,
  parallelism: 256,
  software: false,
};

/** An adapter as schedules see it. */
export function scheduleTarget(target: WgslTarget): ThreadTarget {
  return { arithmetic: SCHEDULE_TARGET, ...target };
}
