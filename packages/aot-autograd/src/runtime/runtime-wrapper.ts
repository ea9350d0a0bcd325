/**
 * @file The runtime wrapper: a compiled graph as a function over the caller's tensors.
 *
 * Gathers the graph's inputs (each distinct tensor once, flat bases of shared memory, generator state),
 * runs the compiled forward graph without recording, gives values their backward node, marks modified
 * inputs, and makes the results that are inputs or views. A program that needs none of this runs as the
 * compiled graph itself.
 */
import { TesseraError } from '@tessera/shared';
import {
  type GradMeta,
  type Tensor,
  enableGrad,
  gradEdge,
  gradMode,
  itemSize,
  makeTensor,
  noGrad,
  reserveOffsets,
  setHistory,
  withoutModes,
} from '@tessera/tensor';
import type { CompiledGraph } from '../graph-compiler.js';
import type { OutputPlan } from '../joint/output-plan.js';
import type { DifferentiableUpdate, ValueGrad } from '../joint/trace-joint.js';
import { replayView } from '../joint/view-steps.js';
import type { SavedSource } from '../partition/partition.js';
import { type BackwardProgram, CompiledFunctionBackward } from './compiled-backward.js';
import { ConsumedBackward } from './double-backward.js';

/** What the wrapper must know besides the compiled graph; plain data. */
export interface RuntimePlan {
  /** Number of inputs of the program. */
  readonly inputCount: number;
  /** Positions of the inputs that the graph takes, in its order. */
  readonly inputPositions: readonly number[];
  /** Positions of inputs whose memory is passed as a flat base, after them. */
  readonly basePositions: readonly number[];
  /** Random ops in the graph; if not 0, seed and offset come last. */
  readonly randomCount: number;
  /** Positions of inputs that the graph writes to. */
  readonly mutatedPositions: readonly number[];
  readonly outputs: readonly OutputPlan[];
  readonly valueGrads: readonly ValueGrad[];
  /** Their values follow those of `valueGrads` in the graph's outputs. */
  readonly updates: readonly DifferentiableUpdate[];
  /** Positions of inputs that receive gradients. */
  readonly gradPositions: readonly number[];
  /** Values saved for backward, out of the graph's inputs and outputs; null without backward. */
  readonly saved: readonly SavedSource[] | null;
}

/** The function over real tensors. */
export function wrapRuntime(
  plan: RuntimePlan,
  forward: CompiledGraph,
  backward: BackwardProgram | null,
): CompiledGraph {
  const run = (inputs: readonly unknown[]): readonly unknown[] =>
    withoutModes(() => noGrad(() => forward(inputs)));
  if (isPlain(plan)) {
    return (inputs) => {
      checkCount(inputs, plan);
      return run(inputs);
    };
  }
  return (inputs) => {
    checkCount(inputs, plan);
    const graphInputs = gatherInputs(plan, inputs);
    const values = run(graphInputs);
    for (const position of plan.mutatedPositions) (inputs[position] as Tensor).storage.version++;
    if (plan.saved !== null && backward !== null && gradMode.enabled)
      attach(plan, backward, inputs, graphInputs, values);
    plan.valueGrads.forEach((grad, i) => {
      if (grad.kind === 'consumed')
        setHistory(values[i] as Tensor, new ConsumedBackward(values[i] as Tensor), 0);
    });
    plan.updates.forEach(({ position }, i) => {
      const update = values[plan.valueGrads.length + i] as Tensor;
      withoutModes(() => enableGrad(() => (inputs[position] as Tensor).copy_(update)));
    });
    return plan.outputs.map((output) => makeOutput(output, inputs, values));
  };
}

/** Whether inputs and outputs of the program and of the graph are the same. */
function isPlain(plan: RuntimePlan): boolean {
  return (
    plan.saved === null &&
    plan.basePositions.length === 0 &&
    plan.randomCount === 0 &&
    plan.mutatedPositions.length === 0 &&
    plan.updates.length === 0 &&
    plan.inputPositions.length === plan.inputCount &&
    plan.valueGrads.every((grad) => grad.kind === 'none') &&
    plan.outputs.every((output, i) => output.kind === 'value' && output.index === i)
  );
}

function checkCount(inputs: readonly unknown[], plan: RuntimePlan): void {
  if (inputs.length === plan.inputCount) return;
  throw new TesseraError(
    'structure-mismatch',
    `The compiled graph takes ${plan.inputCount} inputs, got ${inputs.length}.`,
    {
      context: { expected: plan.inputCount, got: inputs.length },
      hints: ['Call it with the inputs it was compiled for.'],
    },
  );
}

function gatherInputs(plan: RuntimePlan, inputs: readonly unknown[]): unknown[] {
  const gathered: unknown[] = plan.inputPositions.map((position) => inputs[position]);
  for (const position of plan.basePositions) gathered.push(flatBase(inputs[position] as Tensor));
  if (plan.randomCount > 0) {
    const { seed, offset } = reserveOffsets(plan.randomCount);
    gathered.push(seed, offset);
  }
  return gathered;
}

function flatBase(tensor: Tensor): Tensor {
  const { storage, dtype, device } = tensor;
  return makeTensor(storage, dtype, device, [storage.nbytes / itemSize(dtype)], [1], 0);
}

/** Gives the values that require grad their backward node. */
function attach(
  plan: RuntimePlan,
  program: BackwardProgram,
  inputs: readonly unknown[],
  graphInputs: readonly unknown[],
  values: readonly unknown[],
): void {
  const edges = plan.gradPositions.map((position) => gradEdge(inputs[position] as Tensor));
  if (edges.every((edge) => edge === null)) return;
  const saved = plan.saved!.map(
    (source) => (source.kind === 'input' ? graphInputs : values)[source.index],
  );
  const targets: Tensor[] = new Array<Tensor>(program.tangents.length);
  plan.valueGrads.forEach((grad, i) => {
    if (grad.kind === 'tangent') targets[grad.index] = values[i] as Tensor;
  });
  plan.updates.forEach(({ tangent }, i) => {
    if (tangent !== null) targets[tangent] = values[plan.valueGrads.length + i] as Tensor;
  });
  const metas = targets.map(({ sizes, dtype, device }): GradMeta => ({ sizes, dtype, device }));
  const node = new CompiledFunctionBackward(program, edges, metas, saved);
  targets.forEach((target, i) => setHistory(target, node, i));
}

function makeOutput(
  output: OutputPlan,
  inputs: readonly unknown[],
  values: readonly unknown[],
): unknown {
  switch (output.kind) {
    case 'value':
      return values[output.index];
    case 'value-view':
      return view(values[output.index] as Tensor, output);
    case 'input':
      return inputs[output.position];
    case 'input-view':
      return view(inputs[output.position] as Tensor, output);
    case 'constant':
      return output.value;
  }
}

function view(
  base: Tensor,
  plan: Extract<OutputPlan, { kind: 'value-view' | 'input-view' }>,
): Tensor {
  const make = (): Tensor => withoutModes(() => replayView(base, plan.steps));
  return plan.differentiable ? make() : noGrad(make);
}
