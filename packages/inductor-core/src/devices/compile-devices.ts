/**
 * @file `compileDevices`: a graph over any devices → a function on tensors.
 *
 * A graph of one device is one plan. Others, and those with kernels of the program's that its plan cannot call, are
 * split (`splitGraph`): every subgraph is a plan of its own for the backend of its device, and the steps run in order,
 * with the copies between devices and the calls of kernels made by the host.
 */
import { type GraphModule, type Node, getItem, tensorVal } from '@tessera/graph';
import { type Steps, atOnce } from '@tessera/shared';
import { type DeviceType, type Tensor, isTensor } from '@tessera/tensor';
import { checkPromise, emptyFromMeta, sameNumbers } from '@tessera/tensor/internal';
import type { CompiledGraph } from '../compile-to-executable.js';
import { type BetweenPlans, isHostNode } from './host-node.js';
import { devicesOf } from './node-device.js';
import { type DeviceStep, splitGraph } from './split-graph.js';

/** Compiles a graph of one device under a name. */
export type CompilePart<R = CompiledGraph> = (
  module: GraphModule,
  device: DeviceType,
  name: string,
) => R;

/** A compiled graph: values of the placeholders in, values of the output list out. */
export interface CompiledParts {
  (inputs: readonly unknown[]): unknown[];
  /** Plans in the order in which they run. */
  readonly parts: readonly CompiledGraph[];
  /** See `CompiledGraph`. */
  readonly isFresh: (position: number) => boolean;
  /** See `CompiledGraph`; of a graph of one device. */
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
): Steps<CompiledParts> {
  yield;
  const isSplit =
    devicesOf(module).size > 1 || module.graph.nodes.some((node) => isHostNode(node, betweenPlans));
  return yield* (isSplit ? splitSteps : wholeSteps)(module, compile, betweenPlans);
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

/** Compiles a graph part by part. */
function* splitSteps(
  module: GraphModule,
  compile: CompilePart<Steps<CompiledGraph>>,
  betweenPlans: BetweenPlans,
): Steps<CompiledParts> {
  const { steps, slots, results } = splitGraph(module, betweenPlans);
  const parts: CompiledGraph[] = [];
  const dispose = (): void => parts.forEach((part) => part.dispose());
  const load = function* (step: DeviceStep): Steps<Loaded> {
    if (step.device === null) return { ...step, run: hostStep(step) };
    const part = yield* compile(step.module, step.device, `graph_${parts.length}`);
    parts.push(part);
    return { ...step, run: part };
  };
  const loaded: Loaded[] = [];
  try {
    for (const step of steps) loaded.push(yield* load(step));
  } catch (error) {
    dispose();
    throw error;
  }
  const call = (inputs: readonly unknown[]): unknown[] => {
    const values: unknown[] = [...inputs];
    values.length = slots;
    for (const { reads, fills, frees, run } of loaded) {
      const made = run(reads.map((slot) => values[slot]));
      fills.forEach((slot, i) => (values[slot] = made[i]));
      for (const slot of frees) {
        (values[slot] as Tensor).storage.release();
        values[slot] = undefined;
      }
    }
    return results.map((result) => (result.kind === 'slot' ? values[result.slot] : result.value));
  };
  // Results of one part may be read by another, and by transfers.
  return Object.assign(call, { parts, isFresh: () => false, dispose });
}

/** A step that can run. */
interface Loaded extends DeviceStep {
  readonly run: (inputs: readonly unknown[]) => readonly unknown[];
}

/** Runs what the host does, operator by operator. */
function hostStep({ module }: DeviceStep): Loaded['run'] {
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
