/**
 * @file `@tessera/shared`: what every other package builds on.
 *
 * Errors with codes, log artifacts, the configuration store, pytrees, symbolic integers, counters
 * and the check for duplicate packages. Imports nothing.
 */

// Errors
export { REPOSITORY } from './repository.js';
export { TesseraError, isTesseraError, messageOf } from './errors.js';
export type { TesseraErrorOptions } from './errors.js';
export { ERROR_CODES } from './error-codes.js';
export type { ErrorCode } from './error-codes.js';
export { inspectsAs } from './inspects-as.js';
export { keepFrames } from './keep-frames.js';
export { checkFunction } from './check-function.js';
export { nearestNames } from './nearest-names.js';
export { type RunInScope, scopesOf } from './scope.js';
export { PriorityQueue } from './priority-queue.js';
export { type OptionNames, checkOptionNames } from './option-names.js';

// Logs
export { log, logArtifacts, logEnabled, registerLogArtifact, setLogSink, setLogs } from './logs.js';
export type { LogArtifact, LogArtifactName, LogSink } from './logs.js';

// Configuration
export { config, defineConfig } from './config/config-store.js';
export type { Config, ConfigEntry, ConfigOptions, ConfigValues } from './config/config-store.js';
export { integerIn, oneOf, option } from './config/config-option.js';
export type { ConfigOption, OptionValidator } from './config/config-option.js';

// Pytrees
export { treeFlatten, treeLeaves, treeMap, treeUnflatten } from './pytree/pytree.js';
export type { Flattened, IsLeaf } from './pytree/pytree.js';
export { treePaths, treeSpecDifference, treeSpecEqual } from './pytree/tree-spec-compare.js';
export { LEAF_SPEC } from './pytree/tree-spec.js';
export type { TreeSpec, TreeSpecOf } from './pytree/tree-spec.js';
export { registerPytreeNode } from './pytree/node-registry.js';
export type { PytreeNodeDefinition, PytreeNodeOptions } from './pytree/node-registry.js';

// Symbolic integers
export {
  isStatic,
  sizeAdd,
  sizeCeilDiv,
  sizeEq,
  sizeFloorDiv,
  sizeHint,
  sizeKnown,
  sizeLt,
  sizeMax,
  sizeMin,
  sizeMod,
  sizeMul,
  sizeNeg,
  sizeProduct,
  sizeSub,
  sizeSum,
} from './symint/size.js';
export type { Size } from './symint/size.js';
export { SymInt } from './symint/sym-int.js';
export type { SymIntKind, SymIntOwner, SymIntParts } from './symint/sym-int.js';
export { ShapeEnv } from './symint/shape-env.js';
export type { SymbolOptions } from './symint/shape-env.js';
export { compareNumbers, gcd } from './symint/integer-arithmetic.js';
export { commonUnit, isMultiple, quotientOf } from './symint/multiples.js';
export type { RelationOp } from './symint/integer-arithmetic.js';
export type { Relation } from './symint/relation.js';
export {
  ANY_INTEGER,
  addRanges,
  exactly,
  floorDivRanges,
  intersectRanges,
  liesWithin,
  maxRanges,
  minRanges,
  modRanges,
  multiplyRanges,
  scaleRange,
  unionRanges,
} from './symint/value-range.js';
export type { ValueRange } from './symint/value-range.js';
export { printSize } from './symint/print.js';
export { freeSymbols } from './symint/rewrite.js';
export { compileSize } from './symint/compile-size.js';
export type { SizeFunction } from './symint/compile-size.js';
export { SizeProgram, numbersIn } from './symint/size-program.js';
export { modNumbers } from './symint/integer-arithmetic.js';
export { decodeSize, encodeSize } from './symint/size-json.js';
export type { JsonSize } from './symint/size-json.js';
export { SizeFitter } from './symint/fit-size.js';
export { SampledNumbers } from './symint/sampled-numbers.js';
export { SizeSamples, isDetermined, remaindersIn } from './symint/size-samples.js';
export type { FitTerm } from './symint/fit-size.js';

// Run-time scalars
export { SymScalar, isPlainInteger, isSymScalar, scalarKind } from './sym-scalar.js';
export type { Scalar, ScalarKind, ScalarLike } from './sym-scalar.js';

// The host
export { environmentVariable } from './host/environment.js';
export { canGenerateCode } from './host/generated-code.js';
export { nodeBuiltin } from './host/node-builtin.js';
export { browserWorkerScript, startWorker } from './host/worker.js';
export type { WorkerHandle, WorkerStart, WorkerUrl } from './host/worker.js';

// Program-wide registries
export { counters } from './counters.js';
export type { Counters } from './counters.js';
export {
  addReport,
  currentReport,
  emptyReport,
  reportKernels,
  reportPerSize,
  reportUncompiled,
  reportTo,
  stage,
  stageOf,
} from './compile-report.js';
export type { CompileReport, PerSize } from './compile-report.js';
export { now } from './clock.js';
export { type Pause, type Steps, atOnce, inScope, inSlices } from './steps.js';
export { ProfileRecorder, profile, profiling } from './profile.js';
export type { Profile, ProfileCategory, ProfileEvent } from './profile.js';
export { registerPackageCopy } from './package-copy.js';
export { callPath, userFrame } from './user-frame.js';
