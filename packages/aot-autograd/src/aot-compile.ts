/**
 * @file `compileProgram`: from a program to a function over real tensors, through the joint graph.
 *
 * trace joint → functionalize → joint passes → partition → passes → compilers → runtime wrapper. The
 * whole path is here on one screen; every step is a file of its own.
 */
import type { DecompositionTable, GraphModule, Node } from '@tessera/graph';
import { type Pass, jointPasses, passSteps, postGradPasses } from '@tessera/passes';
import { type Steps, atOnce, log, stage, stageOf } from '@tessera/shared';
import { type BackwardRequest, backwardProgram } from './backward-program.js';
import { type FunctionalGraph, functionalizeSteps } from './functionalize/functionalize.js';
import { pureGraph } from './functionalize/pure-graph.js';
import { type CompiledGraph, type GraphCompiler, compileSteps } from './graph-compiler.js';
import { type JointRequest, type JointTrace, jointSteps } from './joint/trace-joint.js';
import { tangentsOfGradients } from './joint/tangent-use.js';
import { defaultPartition } from './partition/default-partition.js';
import type { JointGraph, Partition, Partitioner } from './partition/partition.js';
import { type RuntimePlan, wrapRuntime } from './runtime/runtime-wrapper.js';
import type { ProgramSample } from './runtime/program-samples.js';
import type { ViewSamples } from './runtime/view-samples.js';

/** How a program is compiled. */
export interface AotOptions {
  readonly fwCompiler: GraphCompiler;
  /** Default: `fwCompiler`. */
  readonly bwCompiler?: GraphCompiler;
  /** For programs without gradients; default `fwCompiler`. */
  readonly inferenceCompiler?: GraphCompiler;
  /** Default: `defaultPartition`. */
  readonly partitionFn?: Partitioner;
  /** Passes on the joint graph; default `jointPasses`. */
  readonly jointPasses?: readonly Pass[];
  /** Passes on the forward and the backward graph before they are compiled; default `postGradPasses`. */
  readonly postGradPasses?: readonly Pass[];
  /** Replacements of primitive ops while tracing. */
  readonly decompositions?: DecompositionTable;
}

/** How a program that the tracer recorded is compiled. */
export interface ProgramOptions extends AotOptions {
  /** The sizes of the program, where the same was or will be compiled at others. */
  readonly sample?: ProgramSample | null;
}

/** A compiled program. */
export interface AotCompiled {
  /** Inputs in, results out. */
  readonly call: CompiledGraph;
  readonly plan: RuntimePlan;
  /** The forward graph, or the only one. */
  readonly forward: GraphModule;
  readonly backward: GraphModule | null;
  /** Pairs of inputs that were the same tensor and must be so in every call: [later, first]. */
  readonly duplicates: JointTrace['primals']['duplicates'];
  /** Grad mode when the program ended; the caller sets it. */
  readonly gradEnabledAfter: boolean;
}

/** Compiles a program. @throws aot-unsupported, graph-lint, and what its ops throw */
export function compileProgram(
  request: Omit<JointRequest, 'decompositions'>,
  options: ProgramOptions,
): AotCompiled {
  return atOnce(programSteps(request, options));
}

/** `compileProgram` with pauses. @throws aot-unsupported, graph-lint, and what its ops throw */
export function* programSteps(
  request: Omit<JointRequest, 'decompositions'>,
  options: ProgramOptions,
): Steps<AotCompiled> {
  const { postGradPasses: afterwards = postGradPasses } = options;
  const { decompositions } = options;
  const trace = yield* stageOf('joint graph', jointSteps({ ...request, decompositions }));
  const functional = yield* stageOf('functionalize', functionalizeJoint(trace));
  yield;
  const tangentsOf = gradientTangents(trace, functional);
  const { module } = functional;
  yield* stageOf('joint passes', passSteps(module, options.jointPasses ?? jointPasses));
  log('aot_joint', () => module.print());
  if (trace.tangents.length === 0)
    return yield* compileInference(trace, functional, request.gradEnabled, options);
  const partition = stage('partition', () =>
    (options.partitionFn ?? defaultPartition)(jointGraph(trace, functional)),
  );
  yield;
  for (const part of [partition.forward, partition.backward])
    yield* stageOf('post-grad passes', passSteps(part, afterwards));
  log(
    'aot_graphs',
    () =>
      `${partition.forward.print({ name: 'forward' })}\n${partition.backward.print({ name: 'backward' })}`,
  );
  const forward = yield* compileSteps(options.fwCompiler, partition.forward);
  const plan = runtimePlan(trace, functional, partition, request.gradEnabled);
  const program = backwardProgram({
    trace,
    partition,
    tangentsOf,
    compiler: options.bwCompiler ?? options.fwCompiler,
    passes: afterwards,
    sample: options.sample ?? null,
  });
  return {
    call: wrapRuntime(plan, forward, program, viewsOf(plan, options)),
    plan,
    forward: partition.forward,
    backward: partition.backward,
    duplicates: trace.primals.duplicates,
    gradEnabledAfter: trace.gradEnabledAfter,
  };
}

/** The samples of views, of which this program is one. */
function viewsOf({ outputs }: RuntimePlan, { sample }: ProgramOptions): ViewSamples | undefined {
  sample?.of.views.add(sample.sizes, outputs);
  return sample?.of.views;
}

function* functionalizeJoint(trace: JointTrace): Steps<FunctionalGraph> {
  const kept = trace.valueGrads.length + trace.updates.length;
  // Gradients go through the runtime wrapper, which hands on what is an input already.
  const mayAlias = (index: number): boolean => index >= kept;
  const pure = pureGraph(trace.module, { mayAlias });
  if (pure !== null) return pure;
  const returned = trace.updates.map(({ position }) => trace.primals.byPosition[position].node);
  return yield* functionalizeSteps(trace.module, { returned: new Set(returned), mayAlias });
}

function* compileInference(
  trace: JointTrace,
  functional: FunctionalGraph,
  gradEnabled: boolean,
  options: ProgramOptions,
): Steps<AotCompiled> {
  const { module } = functional;
  markReturned(trace, functional);
  log('aot_graphs', () => module.print());
  const compiler = options.inferenceCompiler ?? options.fwCompiler;
  const compiled = yield* compileSteps(compiler, module);
  const plan = runtimePlan(trace, functional, null, gradEnabled);
  return {
    call: wrapRuntime(plan, compiled, null, viewsOf(plan, options)),
    plan,
    forward: module,
    backward: null,
    duplicates: trace.primals.duplicates,
    gradEnabledAfter: trace.gradEnabledAfter,
  };
}

/** Marks inputs that the program returns, whole or as views: their memory stays the caller's. */
function markReturned(trace: JointTrace, functional: FunctionalGraph): void {
  for (const plan of trace.plans) {
    if (plan.kind !== 'input' && plan.kind !== 'input-view') continue;
    const primal = trace.primals.byPosition[plan.position];
    const node = functional.placeholders.get(primal.node);
    if (node !== undefined) node.meta.returned = true;
  }
}

function jointGraph(trace: JointTrace, functional: FunctionalGraph): JointGraph {
  const tangents = trace.tangents.map((node) => functional.placeholders.get(node)!);
  const isTangent = new Set<Node>(tangents);
  return {
    module: functional.module,
    inputs: functional.module.graph.placeholders.filter((node) => !isTangent.has(node)),
    tangents,
    updated: updatedInputs(trace, functional),
    forwardOutputs: trace.valueGrads.length + trace.updates.length,
  };
}

/** Placeholders of the functional graph whose contents change during the call. */
function updatedInputs(trace: JointTrace, functional: FunctionalGraph): Node[] {
  const returned = trace.updates.map(({ position }) => trace.primals.byPosition[position].node);
  const inputs = [...functional.mutated, ...returned].map((node) =>
    functional.placeholders.get(node)!,
  );
  return [...inputs, ...functional.bases.map((base) => base.node)];
}

function runtimePlan(
  trace: JointTrace,
  functional: FunctionalGraph,
  partition: Partition | null,
  gradEnabled: boolean,
): RuntimePlan {
  const positionOf = new Map(trace.primals.list.map((primal) => [primal.node, primal.position]));
  return {
    inputCount: trace.primals.byPosition.length,
    inputPositions: trace.primals.list.map((primal) => primal.position),
    basePositions: functional.bases.map((base) => positionOf.get(base.of)!),
    mutatedPositions: functional.mutated.map((node) => positionOf.get(node)!),
    outputs: trace.plans,
    valueGrads: trace.valueGrads,
    updates: trace.updates,
    layouts: trace.layouts,
    gradEnabled,
    gradPositions: trace.gradPositions,
    saved: partition?.saved ?? null,
  };
}

/** Read before passes: one may replace what comes from a tangent by a constant. */
function gradientTangents(
  trace: JointTrace,
  { module, placeholders }: FunctionalGraph,
): BackwardRequest['tangentsOf'] {
  const tangents = trace.tangents.map((node) => placeholders.get(node)!);
  return tangentsOfGradients(module, tangents, trace.valueGrads.length + trace.updates.length);
}
