/**
 * @file Public API of @tessera/inductor-wgsl: WGSL code generation and the WebGPU runtime.
 */
export { initWebGpu, WebGpu } from './runtime/device/init-webgpu.js';
export type { WebGpuOptions } from './runtime/device/open-context.js';
export { LoadedPlan } from './runtime/plan/loaded-plan.js';
export type { DeviceProfile } from './runtime/device/gpu-context.js';
export { wgslCapabilities } from './runtime/wgsl-backend.js';
export { WgslExecutable } from './runtime/plan/executable.js';
export type { TileTiming } from './runtime/matmul-tuner.js';

export { generateKernel } from './codegen/generate.js';
export type { BindingSlot, UniformField, WgslProgram } from './codegen/wgsl-program.js';
export { useLinearAlgebra } from './linear-algebra/use-linear-algebra.js';
export { useDistributions } from './element-functions/use-distributions.js';
export { type OwnOperator, ownOperators } from './runtime/own-operators.js';
export { useSubgroupMatrices } from './codegen/matrices/use-subgroup-matrices.js';
export { BASELINE_TARGET, type WgslTarget } from './codegen/target.js';
export { directVariant, type KernelVariant } from './codegen/variant.js';
export {
  MATMUL_TILES,
  matmulClass,
  type MatmulShape,
  type MatmulTile,
  type TileMemory,
} from '@tessera/inductor-core';
