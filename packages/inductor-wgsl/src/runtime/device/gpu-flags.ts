/**
 * @file Flag values of the WebGPU specification. Node has no global `GPUBufferUsage`, and the numbers are
 * fixed, so they are written down here.
 */

/// <reference types="@webgpu/types" />

/** `GPUBufferUsage`. */
export const BufferUsage = {
  mapRead: 0x0001,
  copySrc: 0x0004,
  copyDst: 0x0008,
  uniform: 0x0040,
  storage: 0x0080,
  queryResolve: 0x0200,
} as const;

/** `GPUMapMode.READ`. */
export const MAP_READ = 0x0001;

/** `GPUShaderStage.COMPUTE`. */
export const STAGE_COMPUTE = 0x4;
