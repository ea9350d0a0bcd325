/**
 * @file Public API of `@tessera/graph`: the FX-style IR between capture and code generation.
 */
export { Graph } from './ir/graph.js';
export {
  type Argument,
  type HostFunction,
  Node,
  type NodeMeta,
  type Opcode,
  type Target,
  mapArgument,
} from './ir/node.js';
export { graphError } from './ir/graph-error.js';
export { type Attribute, GraphModule } from './ir/graph-module.js';
export type { AttributeLookup, Submodule } from './ir/submodule.js';
export { getItem } from './ir/get-item.js';
export {
  type HostFunctionTraits,
  hostFunction,
  registerHostFunction,
} from './ir/host-functions.js';
export { type PrintOptions, printArgument, printGraph, printNode } from './ir/print-graph.js';
export { copyModule } from './ir/copy-module.js';
export { type AttributeSource, lintGraph } from './ir/lint.js';
export {
  type JsonSymbols,
  type SymbolRelation,
  type SymbolSpec,
} from './symbolic/graph-symbols.js';
export {
  isSymbolicShape,
  type SymbolicShape,
  type SymbolicVal,
} from './symbolic/symbolic-shape.js';
export { holdsSymbol } from './symbolic/symbolic-argument.js';
export { numbersIn } from './symbolic/explore-sizes.js';
export { GraphTemplate, isSameGraph } from './symbolic/graph-template.js';
export { fractionOf } from './symbolic/scaled-sizes.js';
export { isUniformNode } from './symbolic/template-proof.js';
export { ProvenSizes } from './symbolic/proven-sizes.js';
export type { GraphAtSizes } from './symbolic/graph-at-sizes.js';
export { GraphSamples, type SampledGraph } from './symbolic/graph-samples.js';
export { dividesSizes, numbersOfCall, remaindersOfCall } from './symbolic/call-remainders.js';
export type { Shaped } from './symbolic/operator-cases.js';
export type { CaseOf } from './symbolic/operator-cases.js';
export { isBesideFloats } from './ir/beside-floats.js';
export { LayoutClass, casesOf, isUniform, layoutClass } from './symbolic/uniform-operators.js';
export { sameConstant } from './symbolic/same-program.js';
export { type SizedInput } from './symbolic/sized-inputs.js';
export {
  type DeclaredSize,
  type SizedTrace,
  type TraceSizesRequest,
  type TracedSizes,
  traceSizes,
} from './symbolic/trace-sizes.js';
export { Interpreter } from './run/interpreter.js';
export { type Program, compileGraph } from './run/program.js';
export { lastUses } from './rewrite/last-uses.js';
export { eliminateDeadCode, isImpure } from './rewrite/dead-code.js';
export { type MakeFxOptions, makeFx } from './trace/make-fx.js';
export { type TraceFunctionOptions, traceOnFakes } from './trace/trace-function.js';
export { type DecompositionTable, ProxyMode } from './trace/proxy-modes.js';
export { TraceRecorder } from './trace/trace-recorder.js';
export { emitGetItem, emitOp, inferVal } from './rewrite/emit-op.js';
export { FakeConverter } from './trace/fake-inputs.js';
export { currentNode } from './run/current-node.js';
export { symbolicTrace } from './trace/symbolic-trace.js';
export { AliasSets, writtenInputs } from './rewrite/alias-sets.js';
export { memoryOrder } from './rewrite/memory-order.js';
export { splitModule } from './rewrite/split-module.js';
export { type JsonGraph, graphFromJson, graphToJson } from './json/graph-json.js';
export {
  type ExportedConstant,
  type ExportedDuplicate,
  ExportedGraph,
  type ExportedInput,
  type ExportedLeaf,
  ResultLeaf,
  isResultLeaf,
} from './export/exported-graph.js';
export { isExportedGraph } from './export/is-exported-graph.js';
export { ExportedTensor } from './export/exported-tensor.js';
export { type JsonExport, type JsonInput, exportToJson } from './export/export-json.js';
export { exportFromJson } from './export/read-export.js';
export { type ExpectedTensor, printExpected, tensorMismatch } from './ir/expected-tensor.js';
export {
  type Key,
  type Source,
  type SourceStep,
  extend,
  follow,
  printKey,
  printSource,
  readStep,
} from './ir/source.js';
export { JsonField, type Refusal, encodeNumber } from './json/json-field.js';
export { type JsonArgument } from './json/argument-json.js';
export { parameterNames } from './trace/parameter-names.js';
export { moduleStack } from './trace/module-stack.js';
export { describeVal, shortDtype, tensorVal, tensorVals } from './ir/value-meta.js';
export { isTransfer } from './ir/transfer.js';
