/**
 * @file Public API of `@tessera/aot-autograd`: programs as functional forward and backward graphs.
 */
export { type AotCompiled, type AotOptions } from './aot-compile.js';
export {
  type AotCaptured,
  type AotCapturedOptions,
  aotCapturedSteps,
  aotCompileCaptured,
  aotModuleSimplified,
} from './aot-captured.js';
export { aotFunction } from './aot-function.js';
export { type ModuleLike, aotModule } from './aot-module.js';
export { type ExportOptions, aotExportJointSimple } from './aot-export.js';
export { memoryEfficientFusion } from './memory-efficient-fusion.js';
export {
  type CompiledGraph,
  type GraphCompiler,
  compileSteps,
  runEagerly,
} from './graph-compiler.js';

// The steps, for use on their own
export { type ExampleInput, type InputInfo, type Primals } from './joint/primals.js';
export {
  type DifferentiableUpdate,
  type JointRequest,
  type JointTrace,
  type ValueGrad,
  traceJoint,
} from './joint/trace-joint.js';
export { type Refusal, isRefusal } from './joint/refusals.js';
export type { OutputPlan } from './joint/output-plan.js';
export type { ViewStep } from './joint/view-steps.js';
export {
  type FunctionalGraph,
  type FunctionalizeOptions,
  functionalize,
} from './functionalize/functionalize.js';
export {
  type GradientSource,
  type JointGraph,
  type Partition,
  type Partitioner,
  type SavedSource,
} from './partition/partition.js';
export { defaultPartition } from './partition/default-partition.js';
export {
  type MinCutOptions,
  minCutPartitioner,
  minCutRematerializationPartition,
} from './partition/min-cut-partition.js';
export type { RecomputeFlags } from './partition/recompute-limits.js';
export type { RuntimePlan } from './runtime/runtime-wrapper.js';
export { type ProgramSample, ProgramSamples } from './runtime/program-samples.js';
