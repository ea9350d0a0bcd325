/**
 * @file Public API of `@tessera/compile`: the facade.
 *
 * Loading it registers the built-in backends and the CPU kernel backend.
 */
import { cpuBackend } from '@tessera/inductor-cpu';
import { registerBuiltinBackends } from './builtin-backends.js';
import { addKernelBackend } from './device-backends.js';

registerBuiltinBackends();
addKernelBackend(cpuBackend);

export type { CompileMode } from './compile-mode.js';
export { type CompileOptions, compile, compiledFunctionOf, explain, reset } from './compile.js';
export { compileAsync, warmup } from './warmup.js';
export {
  type BackendLike,
  listBackends,
  lookupBackend,
  registerBackend,
} from './backend-registry.js';
export { kernelBackend, registerKernelBackend } from './device-backends.js';
export { initWebGpu } from './webgpu.js';
export { useBoundedKeys, useHistograms } from '@tessera/inductor-core';
export {
  useBlockedAttention,
  useFourier,
  useNarrowWeights,
  useSelection,
  useSorting,
} from '@tessera/inductor-cpu';
export { useDistributions, useLinearAlgebra, useSubgroupMatrices } from '@tessera/inductor-wgsl';
export { useFreezing } from '@tessera/passes';
export { type CompileFxOptions, type InnerCompile, compileFx, compileFxInner } from './inductor.js';
export { type CompilationObserver, observeCompilations } from './observe-compilations.js';
export { memoryEfficientFusion } from './memory-efficient-fusion.js';
export {
  type Profile,
  type ProfileCategory,
  type ProfileEvent,
  config,
  counters,
  profile,
  setLogs,
} from '@tessera/shared';
export {
  type Backend,
  type CompiledSegment,
  type DimSpec,
  type Explanation,
  type ExportOptions,
  type ShapeSpec,
  disable,
  exportGraph,
  graphBreak,
  isCompiling,
  markDynamic,
  markStatic,
} from '@tessera/dynamo-trace';
export { type ExportedGraph, exportFromJson, exportToJson } from '@tessera/graph';
