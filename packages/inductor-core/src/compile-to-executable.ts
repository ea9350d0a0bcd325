/**
 * @file `compileToExecutable`: a graph → a function on tensors. The last step of the `inductor` compiler.
 */
import type { GraphModule } from '@tessera/graph';
import { type Tensor, type TensorMeta, isTensor } from '@tessera/tensor';
import { currentBackwardNode, emptyFromMeta, emptyOnMemory, getOp } from '@tessera/tensor/internal';
import {
  type Size,
  type Steps,
  TesseraError,
  atOnce,
  log,
  profiling,
  stageOf,
} from '@tessera/shared';
import type { Executable, KernelBackend } from './backend/kernel-backend.js';
import { loadingSteps } from './backend/tuned-executable.js';
import { type CompiledPlan, planSteps } from './compile-graph.js';
import type { IrOutput } from './lower/ir-node.js';
import type { ExecutionPlan } from './plan/execution-plan.js';
import { printPlan } from './plan/print-plan.js';
import { placeRandomState } from './plan/random-state.js';

/** A compiled graph: values of the placeholders in (tensors and numbers), values of the output list out. */
export interface CompiledGraph {
  (inputs: readonly unknown[]): unknown[];
  /** Every tensor is made by the call, and no two share memory. */
  readonly isFresh: (position: number) => boolean;
  readonly plan: ExecutionPlan;
  readonly executable: Executable;
  /** What a caller of the executable must know of the plan, whose kernels may be of any size. */
  readonly outline: PlanOutline;
  /** Tensors of the graph that a caller of the executable appends to the inputs. */
  readonly liftedConstants: readonly Tensor[];
  /** Whether the code is shared with other sizes of the graph. */
  readonly isShared: boolean;
  /** Names of the graph's nodes that each launch of the plan computes, for tools; views are in none. */
  readonly launchNodes: readonly (readonly string[])[];
  /**
   * Code for inputs of other sizes, where nothing but sizes differs: see `CompiledSegment.forSizes`. No inputs where
   * another graph of the program, which is known, makes them.
   */
  readonly forSizes?:
    | ((sizes: readonly number[], inputs: readonly unknown[] | null) => SizedGraph | null)
    | undefined;
  /** Frees compiled code and memory. */
  dispose(): void;
}

/** A compiled graph at other sizes; what it gives is as fresh. */
export type SizedGraph = (inputs: readonly unknown[]) => unknown[];

/** Options of `compileToExecutable`. */
export interface ExecutableOptions {
  /** Name of the plan, for logs and files. */
  readonly name?: string;
}

/** Where the placeholders' values go. */
export interface InputRoute {
  readonly tensors: readonly number[];
  readonly scalars: readonly number[];
}

/** See `InputRoute`. */
export function routeOf(module: GraphModule): InputRoute {
  const tensors: number[] = [];
  const scalars: number[] = [];
  module.graph.placeholders.forEach((node, position) =>
    (isTensor(node.meta.val) ? tensors : scalars).push(position),
  );
  return { tensors, scalars };
}

function checkCount(name: string, wanted: number, inputs: readonly unknown[]): void {
  if (inputs.length === wanted) return;
  throw new TesseraError(
    'structure-mismatch',
    `Compiled graph '${name}' takes ${wanted} inputs, got ${inputs.length}.`,
    {
      hints: ['Pass one value per placeholder of the graph, tensors and numbers in their order.'],
    },
  );
}

/** Logs a plan that was made. */
export function logPlan(plan: ExecutionPlan): void {
  log('schedule', () => printPlan(plan));
  for (const kernel of plan.kernels)
    if (kernel.kind === 'extern' && !getOp(kernel.op).hasTag('effect'))
      log('perf', () => `${plan.name}: ${kernel.op} has no generated code; its eager kernel runs`);
}

/**
 * Compiles a functional ATen graph for a backend and loads it. The caller guarantees that inputs have the
 * recorded dtypes, layouts and device (guards check that); outputs are freshly allocated with the recorded
 * strides.
 *
 * @throws kernel-missing, plan-invalid, dtype-unsupported
 */
export function compileToExecutable(
  module: GraphModule,
  backend: KernelBackend,
  options: ExecutableOptions = {},
): CompiledGraph {
  return atOnce(executableSteps(module, backend, options));
}

/** Compiles graphs of a form in another way, with pauses; gives null for others. */
export type GraphForm = (
  module: GraphModule,
  backend: KernelBackend,
  options: ExecutableOptions,
) => Steps<CompiledGraph | null>;

const forms = new Set<GraphForm>();

/** Makes a form known: pages that never do leave out its code. */
export function registerGraphForm(form: GraphForm): void {
  forms.add(form);
}

/** `compileToExecutable` with pauses. @throws kernel-missing, plan-invalid, dtype-unsupported */
export function* executableSteps(
  module: GraphModule,
  backend: KernelBackend,
  options: ExecutableOptions,
): Steps<CompiledGraph> {
  for (const form of forms) {
    const made = yield* form(module, backend, options);
    if (made !== null) return made;
  }
  const compiled = yield* planSteps(module, { backend, name: options.name ?? 'graph' });
  const { plan } = compiled;
  logPlan(plan);
  yield;
  const executable = yield* stageOf('generate and load code', loadingSteps(backend, plan));
  return compiledGraph(routeOf(module), backend, executable, {
    ...compiled,
    outline: plan,
    isShared: false,
  });
}

/** The parts of a plan that are there without its kernels. */
export type PlanOutline = Pick<ExecutionPlan, 'name' | 'rng' | 'launches' | 'outputs'>;

/** What a call must know of a plan, whatever its sizes. */
export interface PlanCall extends Omit<CompiledPlan, 'plan' | 'outputs'> {
  readonly outline: PlanOutline;
  readonly outputs: readonly IrOutput<Size>[];
  readonly isShared: boolean;
}

/** Calls loaded plans that differ in nothing but sizes. */
export class PlanCaller {
  private readonly count: number;

  constructor(
    private readonly route: InputRoute,
    private readonly plan: Omit<PlanCall, 'outline' | 'isShared' | 'launchNodes'> & {
      readonly outline: Omit<PlanOutline, 'outputs'>;
    },
  ) {
    this.count = route.tensors.length + route.scalars.length;
  }

  /** Runs one of them, of outputs of these layouts. */
  call(
    executable: Executable,
    metas: readonly TensorMeta[],
    inputs: readonly unknown[],
  ): unknown[] {
    const { route, count } = this;
    const { liftedConstants, outputs, outline } = this.plan;
    const { name, rng, launches } = outline;
    checkCount(name, count, inputs);
    const tensors: Tensor[] = [];
    for (const position of route.tensors) tensors.push(inputs[position] as Tensor);
    tensors.push(...liftedConstants);
    const scalars: number[] = [];
    for (const position of route.scalars) scalars.push(Number(inputs[position]));
    if (rng !== undefined) placeRandomState(rng, scalars);
    const memory = executable.allocateOutputs?.(tensors);
    const made =
      memory === undefined
        ? metas.map(emptyFromMeta)
        : metas.map((meta, i) => emptyOnMemory(meta, memory[i]!));
    if (launches.length > 0) {
      const profiler = profiling.active;
      const open = profiler?.begin();
      executable.run(tensors, made, scalars);
      if (open !== undefined) {
        const seq = currentBackwardNode()?.sequenceNr ?? -1;
        const sizes = tensors.map((tensor) => tensor.sizes);
        profiler!.end(open, 'kernel', `${name} (${launches.length})`, seq, sizes);
      }
    }
    let next = 0;
    return outputs.map((output) => (output.kind === 'value' ? output.value : made[next++]!));
  }
}

/** The function of a loaded graph. */
export function compiledGraph(
  route: InputRoute,
  backend: KernelBackend,
  executable: Executable,
  plan: PlanCall,
): CompiledGraph {
  const { outline, outputs, launchNodes, liftedConstants, isShared } = plan;
  const { device } = backend;
  const metas = outline.outputs.map((output): TensorMeta => ({ ...output, device }));
  const caller = new PlanCaller(route, plan);
  const call: SizedGraph = (inputs) => caller.call(executable, metas, inputs);
  const { launchOrigins } = executable;
  const rest = {
    executable,
    liftedConstants,
    launchNodes: launchOrigins?.map((origin) => launchNodes[origin]!) ?? launchNodes,
    outline,
    isShared,
    isFresh: (position: number): boolean => outputs[position]?.kind !== 'value',
    dispose: () => {
      // Code for all sizes outlives one of them.
      if (!isShared) executable.dispose();
    },
  };
  // A plan of many sizes is written out for one of them when somebody reads it.
  Object.defineProperty(call, 'plan', { get: () => executable.plan, enumerable: true });
  return Object.assign(call as typeof call & Pick<CompiledGraph, 'plan'>, rest);
}
