/**
 * @file Public API of @tessera/inductor-core: the loop IR, the compiler and the backend contract.
 */
export type { IndexExpr, LoopVar, SizedLoop } from './ir/index-expr.js';
export { type SizeValue, isStaticKernel, kernelAt } from './ir/kernel-at.js';
export { type GeneratedKernel, kernelLoops, kernelStmts, loopsByRole } from './ir/kernel-parts.js';
export { type KernelMap, mapKernel } from './ir/map-kernel.js';
export {
  type PlanTemplate,
  type TemplateBuffer,
  type TemplateOutput,
  type TemplateSource,
  TemplateSizes,
  buffersAt,
  outputsAt,
  planAt,
  scratchOf,
} from './plan/plan-template.js';
export { packInOrder } from './memory/arena.js';
export { ProgramCode, SizeFamilies, SizeFamily } from './sizes/size-family.js';
export { useBoundedKeys } from './lengths/use-bounded-keys.js';
export { useHistograms } from './lower/use-histograms.js';
export { useRareDraws } from './lower/use-rare-draws.js';
export type { Combine, Expr, ReduceOp, ScalarOp, Stmt } from './ir/expr.js';
export type {
  AttentionKernel,
  RecurrenceKernel,
  BufferParam,
  ExternArg,
  ExternKernel,
  FusedKernel,
  LoopKernel,
  MatmulKernel,
  ScalarParam,
  ScoreProduct,
  Stage,
  Triangle,
} from './ir/kernel.js';
export { IndexBuilder } from './ir/index-build.js';
export { divisorOf } from './ir/index-bounds.js';
export { IrBuilder, type Rewrite } from './ir/build.js';
export { SCALAR_ARITY, TRANSCENDENTAL_OPS } from './ir/scalar-ops.js';
export {
  indexOf,
  indexSymbols,
  indexValues,
  operands,
  postorder,
  stmtRoots,
  valuesBefore,
} from './ir/walk.js';
export { dependents } from './ir/dependents.js';
export { operandsOf, type WordPart, wordPart } from './ir/word-part.js';
export { type IndexDivision, printIndex, printKernel } from './ir/print.js';
export { valueError } from '@tessera/tensor/internal';
export { type KernelChecks, checkAt, checksOf, checksOfAll } from './ir/kernel-checks.js';
export { verifyKernel } from './ir/verify.js';
export { interpretKernel, type BufferData, type ExternRunner } from './ir/interpret.js';

export { functionProgram } from './schedule/functions/function-table.js';
export { SCALAR_FUNCTIONS } from './schedule/functions/scalar-functions.js';
export { GAMMA_FUNCTIONS } from './schedule/functions/gamma-functions.js';
export { SAMPLING_FUNCTIONS } from './schedule/functions/sampling.js';
export { SCALAR_FUNCTIONS_64 } from './schedule/functions/scalar-functions-64.js';
export { OPERATIONS, OPERATIONS_64, type ValueType } from './schedule/functions/operations.js';
export {
  castValue,
  constantValue,
  drawnValue,
  namedValue,
  operationValue,
  valueType,
} from './schedule/functions/scalar-values.js';
export { type Dialect, spellExpr, spellProgram } from './schedule/functions/spell-program.js';
export { printProgram } from './schedule/functions/print-program.js';
export { runFunction } from './schedule/functions/run-function.js';
export {
  type FunctionRow,
  type FunctionTable,
  type FunctionTarget,
  HOST_FUNCTIONS,
  type HostFunction,
  type ScalarExpr,
  type ScalarProgram,
  type ScalarStatement,
  type ScalarType,
} from './schedule/functions/program.js';
export { REFERENCE_TARGET, type TargetDescription } from './schedule/target-description.js';
export {
  type Assignments,
  type Reduction,
  type Register,
  type Settling,
  type UpdateStep,
} from './schedule/reduction.js';
export { type ReductionOptions, reductionOf } from './schedule/reductions.js';
export { printReduction } from './schedule/print-reduction.js';
export { extent, fastest, moves } from './ir/loop-vars.js';
export { type LaneAccess, type LaneFacts } from './schedule/threads/lane-access.js';
export { LaneContext, type LaneSpec } from './schedule/threads/lane-context.js';
export {
  choosePairedBuffers,
  type PairedPlace,
  pairedPlace,
  type PairFacts,
} from './schedule/threads/paired-elements.js';
export { type AccessGroup, chooseVectorBuffers } from './schedule/threads/vector-buffers.js';
export {
  chooseReductionThreads,
  type ReductionThreads,
} from './schedule/threads/reduction-threads.js';
export { foldGrid, type FoldedGrid, type ThreadTarget } from './schedule/threads/thread-target.js';
export { type ReductionForm, scheduleReduction } from './schedule/threads/schedule-reduction.js';
export { scheduleThreads } from './schedule/threads/schedule-threads.js';
export { printSchedule } from './schedule/print-schedule.js';
export { printScheduled } from './schedule/kernel/print-scheduled.js';
export { verifyScheduled } from './schedule/kernel/verify-scheduled.js';
export { interpretScheduled, type ScheduledRun } from './schedule/kernel/interpret-scheduled.js';
export type {
  Accumulator,
  Condition,
  KeptStmt,
  Lanes,
  LoopStmt,
  Pace,
  ParallelAxis,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
  ShareStmt,
  ScratchArray,
  SharedArray,
} from './schedule/kernel/scheduled-kernel.js';
export type {
  BlockLayout,
  BlockProduct,
  BlockRange,
  BlockSide,
  BlockStmt,
  PackOrder,
  PlainOperand,
  WordParts,
} from './schedule/kernel/blocks.js';
export {
  type ColumnPlace,
  groupBytes,
  type NarrowWeight,
  type PackedWeight,
  type RowForm,
  rowFormBytes,
} from './schedule/kernel/narrow-weight.js';
export type {
  Cell,
  RegisterOp,
  RegisterStmt,
  RegisterValue,
  Routine,
  RoutineCall,
} from './schedule/kernel/registers.js';
export { asIndex, indexAt, sum, times, variable, whole } from './schedule/kernel/places.js';
export { register } from './schedule/kernel/register-values.js';
export {
  type AttentionExtents,
  attentionFrame,
  type AttentionOperand,
  type AttentionOrders,
  visitColumns,
} from './schedule/attention/attention-frame.js';
export { blocksPay, sumsColumns } from './schedule/attention/attention-blocks.js';
export {
  ATTENTION_TILES,
  attentionFits,
  type AttentionNeeds,
  attentionNeeds,
  type AttentionTile,
  chooseAttentionTile,
  WIDEST_ATTENTION,
} from './schedule/attention/attention-tiles.js';
export {
  type TileRegisters,
  weighScores,
  weightRegisters,
} from './schedule/attention/attention-weights.js';
export { RunningSoftmax } from './schedule/attention/running-softmax.js';
export {
  type AttentionChoices,
  scheduleAttention,
} from './schedule/attention/schedule-attention.js';
export { scheduleAttentionBlocks } from './schedule/attention/schedule-blocks.js';
export { panelPitch, roundUp, rowPitch } from './schedule/products/block-layouts.js';
export { oriented } from './schedule/products/oriented-product.js';
export {
  type PartsOf,
  scheduleProductBlocks,
} from './schedule/products/schedule-product-blocks.js';
export { imageTiles, reach, rowsBehind } from './schedule/products/image-tiles.js';
export { type Windows, windowsOf } from './schedule/products/windows.js';
export { type GemvTarget, HALF_FACTOR } from './schedule/products/gemv/row-methods.js';
export { scheduleGemv } from './schedule/products/gemv/schedule-gemv.js';
export { wordParts } from './schedule/products/word-parts.js';
export type { ImageLayout, WindowAxis } from './schedule/kernel/image-layout.js';
export { mergedSpace } from './schedule/products/merged-space.js';
export {
  contiguousAlongK,
  loadOrder,
  type LoadOrder,
  type ProductOperand,
} from './schedule/products/operand-order.js';
export {
  type FrameOperand,
  type ProductFrame,
  productFrame,
} from './schedule/products/product-frame.js';
export {
  isReduction,
  matmulAsReduction,
  matmulClass,
  matmulShape,
} from './schedule/products/product-shape.js';
export { placeThread, rowBits } from './schedule/products/product-threads.js';
export {
  chooseMatmulTile,
  chooseTile,
  isLarge,
  MATMUL_TILES,
  type MatmulShape,
  type MatmulTile,
  type ProductTarget,
  type ResultTile,
  type TileChoice,
  tileFits,
  type TileMemory,
  tilesFor,
  tileThreads,
} from './schedule/products/product-tiles.js';
export { productTime, TIMED_TILES } from './schedule/products/product-times.js';
export { registerBlock } from './schedule/products/register-block.js';
export { type PartialMatmul, ResultShare, shareOf } from './schedule/products/result-share.js';
export { type ProductChoices, scheduleProduct } from './schedule/products/schedule-product.js';
export {
  type ChainPart,
  type ChainStep,
  keepsWeights,
  planesOf,
  recurrenceChain,
} from './schedule/launches/recurrence-chain.js';
export {
  type ReplacedLaunches,
  type RepeatedLaunch,
  type Replacement,
  replaceKernels,
} from './schedule/launches/replace-kernels.js';
export { matmulPieces, splitDeepProduct, splitProduct } from './schedule/launches/split-product.js';
export { unusedName, usedParameters } from './schedule/launches/used-parameters.js';
export { scheduleScalar } from './schedule/scalar/schedule-scalar.js';
export type {
  AccumulatorStmt,
  ScalarBody,
  ScalarKernel,
  ScalarLoop,
  ScalarStmt,
  ScalarTarget,
  ScalarWhen,
} from './schedule/scalar/scalar-kernel.js';
export { scheduleRecurrence } from './schedule/vectors/schedule-recurrence.js';
export { scheduleVectors } from './schedule/vectors/schedule-vectors.js';
export type { VectorTarget } from './schedule/vectors/vector-target.js';
export { LoopSpace } from './schedule/vectors/loop-space.js';
export { formsOf, mergeVariables } from './schedule/vectors/merge-variables.js';
export {
  type LinearForm,
  type OtherPart,
  coefficientOf,
  isLinear,
  isVariable,
  otherParts,
} from './ir/linear-form.js';
export { inTwoPasses, type ReduceStmt } from './schedule/two-passes.js';

export type {
  BufferSource,
  ExecutionPlan,
  Launch,
  PlanBuffer,
  PlanOutput,
} from './plan/execution-plan.js';
export type {
  Capabilities,
  Executable,
  KernelBackend,
  TemplateExecutable,
  KernelSource,
} from './backend/kernel-backend.js';
export type { KernelSchedule, ScheduleFacts } from './backend/kernel-schedule.js';
export {
  hostBackend,
  type HostBackendParts,
  type HostCode,
  type HostKernel,
} from './backend/host-backend.js';

export {
  compileGraph,
  type CompileOptions,
  type CompileTarget,
  type CompiledPlan,
} from './compile-graph.js';
export {
  compileToExecutable,
  executableSteps,
  type CompiledGraph,
  type ExecutableOptions,
} from './compile-to-executable.js';
export {
  compileDevices,
  deviceSteps,
  wholeSteps,
  type CompiledParts,
  type CompilePart,
  type DevicesSample,
} from './devices/compile-devices.js';
export { type BetweenPlans, isBetweenPlans } from './devices/host-node.js';
export { devicesOf } from './devices/node-device.js';
export {
  type DeviceStep,
  type SplitGraph,
  type SplitResult,
  splitGraph,
} from './devices/split-graph.js';
export { boundTo } from './plan/bound-to.js';
export { type ArgumentCheck, argumentCheck, checkedExecutable } from './plan/checked-executable.js';
export { type PlanObserver, observePlans } from './plan/observe-plans.js';
export {
  AttentionKernels,
  type AttentionLimits,
  type AttentionWork,
} from './lower/ops/attention-kernel.js';
export { FACTORED_ROWS, type FactoredRows } from './lower/ops/factored-row.js';
export { printPlan } from './plan/print-plan.js';
export { type PlanReader, planFromJson, planToJson } from './plan/plan-json.js';
export { bufferLifetimes, verifyPlan } from './plan/verify-plan.js';
export { allocateData } from './plan/bind-plan.js';
export { interpretPlan } from './plan/interpret-plan.js';
export { EagerProvider } from './eager/eager-provider.js';

export {
  type LoweredArg,
  type LoweredResult,
  type LoweringCall,
  type LoweringFn,
  type RecordedResult,
  RuntimeScalar,
  registerDecomposition,
  registerLowering,
} from './lower/registry.js';
export type { LoweredArgs, LoweringOf, Operand } from './lower/typed-lowering.js';
export { overrideLowering } from './lower/override-lowering.js';
export { loweredOps } from './lower/find-lowering.js';
export { Lowering } from './lower/lowering.js';
export { LoweredTensor } from './lower/lowered-tensor.js';
export { ExprMath, type Term } from './lower/expr-math.js';
export { lowerGraph, type LoweringResult } from './lower/lower-graph.js';
export { turnedRows } from './lower/turned-rows.js';
export type { IrBuffer, IrNode, IrOutput, LoweredGraph } from './lower/ir-node.js';
