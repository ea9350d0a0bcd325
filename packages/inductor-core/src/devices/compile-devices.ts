/**
 * @file `compileDevices`: a graph over any devices → a function on tensors.
 *
 * A graph of one device is one plan. Others, and those with kernels of the program's that its plan cannot call, are
 * split (`splitGraph`): every subgraph is a plan of its own for the backend of its device, and the steps run in order,
 * with the copies between devices and the calls of kernels made by the host. At sizes at which every step is known (code of
 * parts by its template, what the host runs by samples of it), the graph has a function without being made.
 */
import { type GraphModule, type Node, type SampledGraph, getItem, tensorVal } from '@tessera/graph';
import { type Steps, atOnce } from '@tessera/shared';
import { type DeviceType, type Tensor, isTensor } from '@tessera/tensor';
import { checkPromise, emptyFromMeta, sameNumbers } from '@tessera/tensor/internal';
import type { CompiledGraph } from '../compile-to-executable.js';
import { StepSamples } from '../sizes/step-samples.js';
import { type BetweenPlans, isHostNode } from './host-node.js';
import { devicesOf } from './node-device.js';
import { type DeviceStep, type SplitGraph, splitGraph } from './split-graph.js';

/** Compiles a graph of one device under a name. */
export type CompilePart<R = CompiledGraph> = (
  module: GraphModule,
  device: DeviceType,
  name: string,
) => R;

/** What the graph is a sample of: an object that all graphs of a program have, and its sizes, as `GraphSamples` takes them. */
export interface DevicesSample {
  readonly of: object;
  readonly sizes: readonly number[];
}

const samples = new WeakMap<object, StepSamples>();

function samplesOf(of: object): StepSamples {
  let found = samples.get(of);
  if (found === undefined) samples.set(of, (found = new StepSamples()));
  return found;
}

/** A compiled graph: values of the placeholders in, values of the output list out. */
export interface CompiledParts {
  (inputs: readonly unknown[]): unknown[];
  /** Plans in the order in which they run. */
  readonly parts: readonly CompiledGraph[];
  /** See `CompiledGraph`. */
  readonly isFresh: (position: number) => boolean;
  /** See `CompiledGraph`. */
  readonly forSizes?: CompiledGraph['forSizes'];
  /** Frees compiled code and memory. */
  dispose(): void;
}

/**
 * Compiles a functional ATen graph whose tensors may be on several devices; `compile` is called for each part.
 *
 * @throws device-mismatch, data-async-only, aot-unsupported, and what `compile` throws
 */
export function compileDevices(
  module: GraphModule,
  compile: CompilePart,
  betweenPlans?: BetweenPlans,
): CompiledParts {
  const steps: CompilePart<Steps<CompiledGraph>> = function* (...part) {
    yield;
    return compile(...part);
  };
  return atOnce(deviceSteps(module, steps, betweenPlans));
}

/** `compileDevices` with the pauses of the parts. */
export function* deviceSteps(
  module: GraphModule,
  compile: CompilePart<Steps<CompiledGraph>>,
  betweenPlans: BetweenPlans = () => false,
  sample: () => DevicesSample | null = () => null,
): Steps<CompiledParts> {
  yield;
  const isSplit =
    devicesOf(module).size > 1 || module.graph.nodes.some((node) => isHostNode(node, betweenPlans));
  return yield* (isSplit ? splitSteps : wholeSteps)(module, compile, betweenPlans, sample);
}

/** Compiles a graph of one device as a whole. */
export function* wholeSteps(
  module: GraphModule,
  compile: CompilePart<Steps<CompiledGraph>>,
): Steps<CompiledParts> {
  const [device = 'cpu'] = devicesOf(module);
  const whole = yield* compile(module, device, 'graph');
  const call = (inputs: readonly unknown[]): unknown[] => whole(inputs);
  const { isFresh, forSizes } = whole;
  const dispose = (): void => whole.dispose();
  return Object.assign(call, { parts: [whole], isFresh, forSizes, dispose });
}

/** What a step of a graph is called with, and gives. */
type RunStep = (inputs: readonly unknown[]) => readonly unknown[];

/** A step that can run. */
interface LoadedStep extends DeviceStep {
  readonly run: RunStep;
  /** The same at other sizes, as `CompiledGraph.forSizes`; inputs that other steps make are undefined. */
  readonly forSizes: (
    sizes: readonly number[],
    inputs: readonly unknown[] | null,
  ) => RunStep | null;
}

/** Compiles a graph part by part. */
function* splitSteps(
  module: GraphModule,
  compile: CompilePart<Steps<CompiledGraph>>,
  betweenPlans: BetweenPlans,
  sampleOf: () => DevicesSample | null,
): Steps<CompiledParts> {
  const split = splitGraph(module, betweenPlans);
  const sample = sampleOf();
  const parts: CompiledGraph[] = [];
  const dispose = (): void => parts.forEach((part) => part.dispose());
  const loaded: LoadedStep[] = [];
  try {
    for (const [i, step] of split.steps.entries()) {
      const sampled = (): SampledGraph | null =>
        sample && samplesOf(sample.of).add(step.module, `step_${i}`, sample.sizes);
      if (step.device === null) {
        loaded.push(hostStep(step, sampled()));
        continue;
      }
      const part = yield* compile(step.module, step.device, `graph_${parts.length}`);
      parts.push(part);
      loaded.push(partStep(step, part, part.isShared ? null : sampled()));
    }
  } catch (error) {
    dispose();
    throw error;
  }
  const call = callSteps(
    split,
    loaded.map(({ run }) => run),
  );
  const namesNumbers = split.results.some(
    (result) => result.kind === 'value' && typeof result.value === 'number',
  );
  const forSizes: CompiledParts['forSizes'] = (sizes, inputs) => {
    const runs: RunStep[] = [];
    for (const step of loaded) {
      const given = inputs === null ? null : step.reads.map((slot) => inputs[slot]);
      const run = step.forSizes(sizes, given);
      if (run === null) return null;
      runs.push(run);
    }
    return callSteps(split, runs);
  };
  // Results of one part may be read by another, and by transfers.
  const rest = { parts, isFresh: () => false, dispose };
  return Object.assign(call, rest, namesNumbers ? {} : { forSizes });
}

/** Runs the steps of a graph in order. */
function callSteps(
  { steps, slots, results }: SplitGraph,
  runs: readonly RunStep[],
): (inputs: readonly unknown[]) => unknown[] {
  return (inputs) => {
    const values: unknown[] = [...inputs];
    values.length = slots;
    steps.forEach(({ reads, fills, frees }, i) => {
      const made = runs[i]!(reads.map((slot) => values[slot]));
      fills.forEach((slot, k) => (values[slot] = made[k]));
      for (const slot of frees) {
        (values[slot] as Tensor).storage.release();
        values[slot] = undefined;
      }
    });
    return results.map((result) => (result.kind === 'slot' ? values[result.slot] : result.value));
  };
}

/** A step that is a plan, which is the same at all sizes if samples of it are. */
function partStep(step: DeviceStep, part: CompiledGraph, sampled: SampledGraph | null): LoadedStep {
  const isFixed = (sizes: readonly number[]): boolean => sampled?.at(sizes)?.isFixed === true;
  return {
    ...step,
    run: part,
    forSizes: (sizes, inputs) => part.forSizes?.(sizes, inputs) ?? (isFixed(sizes) ? part : null),
  };
}

/** A step that the host runs. */
function hostStep(step: DeviceStep, sampled: SampledGraph | null): LoadedStep {
  return {
    ...step,
    run: eachOperator(step.module),
    forSizes: (sizes) => {
      const known = sampled?.at(sizes) ?? null;
      return known === null ? null : eachOperator(known.module());
    },
  };
}

/** Runs a graph operator by operator. */
function eachOperator(module: GraphModule): RunStep {
  const { results } = module.graph;
  return (inputs) => {
    const made = module.forward(...inputs) as readonly Tensor[];
    return made.map((tensor, i) => owned(tensor, results[i] as Node, inputs));
  };
}

/** A result in the layout that the graph says, and in memory of its own: a kernel may return what it was given. */
function owned(tensor: Tensor, node: Node, inputs: readonly unknown[]): Tensor {
  const { target } = node.target === getItem ? node.input() : node;
  const expected = tensorVal(node)!;
  if (typeof target === 'object')
    checkPromise(`The kernel of ${target.qualifiedName}`, tensor, expected);
  const isGiven = inputs.some((input) => isTensor(input) && input.storage === tensor.storage);
  if (!isGiven && sameNumbers(tensor.strides, expected.strides)) return tensor;
  return emptyFromMeta(expected).copy_(tensor);
}
