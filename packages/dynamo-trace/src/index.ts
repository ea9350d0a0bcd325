/**
 * @file Public API of `@tessera/dynamo-trace`: capture, guards, replay.
 */
export {
  type Backend,
  type BackendSteps,
  type CompileRequest,
  type CompiledSegment,
  type SegmentInput,
  backendOf,
  stepsOf,
} from './backend.js';
export { GRAPH_BREAKS, type GraphBreakEntry } from './breaks/graph-break-table.js';
export type { BreakReason, GraphBreakCode } from './breaks/graph-breaks.js';
export type { RecordedBreak } from './breaks/report-break.js';
export { type CaptureRecord, CompiledFunction } from './compiled-function.js';
export type { AnyFunction, TraceOptions } from './trace-options.js';
export { traceConfig } from './config.js';
export { disable, graphBreak, isCompiling } from './control.js';
export type { DimSpec, ExportOptions, ShapeSpec } from './export/dynamic-option.js';
export { type ExportableModule, exportGraph } from './export/export-graph.js';
export { markDynamic, markStatic } from './dynamic/dynamic-marks.js';
export {
  type ExplainedGraph,
  type ExplainedSymbol,
  type Explanation,
  UNCOMPILED_HINT,
  explainFunction,
} from './explain.js';
export type { EagerCall } from './eager-call.js';
export { EntryGuards, type Guard, type GuardKind, type Root } from './guards/entry-guards.js';
export { TensorGuard } from './guards/tensor-guard.js';
export { Segment, type SegmentInputRef } from './trace/segment.js';
