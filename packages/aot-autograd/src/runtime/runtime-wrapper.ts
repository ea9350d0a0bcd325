/**
 * @file The runtime wrapper: a compiled graph as a function over the caller's tensors.
 *
 * Gathers the graph's inputs (each distinct tensor once, flat bases of shared memory),
 * runs the compiled forward graph without recording, gives values their backward node, marks modified
 * inputs, and makes the results that are inputs or views. A program that needs none of this runs as the
 * compiled graph itself.
 */
import { TesseraError } from '@tessera/shared';
import { type GeneratorState, type Tensor, enableGrad, isTensor, noGrad } from '@tessera/tensor';
import {
  type Edge,
  type GradMeta,
  asStrided_,
  gradEdge,
  gradFnOf,
  gradMode,
  makeTensor,
  modes,
  noteWrittenSince,
  requiresGrad,
  rngState,
  setHistory,
  withoutModes,
  storageBytes,
} from '@tessera/tensor/internal';
import type { CompiledGraph, SizedGraph } from '../graph-compiler.js';
import type { AliasPlan, OutputPlan } from '../joint/output-plan.js';
import type { DifferentiableUpdate, LayoutUpdate, ValueGrad } from '../joint/trace-joint.js';
import { replayView } from '../joint/view-steps.js';
import type { SavedSource } from '../partition/partition.js';
import { type BackwardProgram, CompiledFunctionBackward } from './compiled-backward.js';
import { ConsumedBackward, UnseenLeaves } from './double-backward.js';
import { ViewSamples, isForAllSizes, isWhole } from './view-samples.js';

/** What the wrapper must know besides the compiled graph; plain data. */
export interface RuntimePlan {
  /** Number of inputs of the program. */
  readonly inputCount: number;
  /** Positions of the inputs that the graph takes, in its order. */
  readonly inputPositions: readonly number[];
  /** Positions of inputs whose memory is passed as a flat base, after them. */
  readonly basePositions: readonly number[];
  /** Positions of inputs that the graph writes to. */
  readonly mutatedPositions: readonly number[];
  readonly outputs: readonly OutputPlan[];
  readonly valueGrads: readonly ValueGrad[];
  /** Their values follow those of `valueGrads` in the graph's outputs. */
  readonly updates: readonly DifferentiableUpdate[];
  /** Inputs to which the program gave another layout. */
  readonly layouts: readonly LayoutUpdate[];
  /** Grad mode when the program began. */
  readonly gradEnabled: boolean;
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
  views: ViewSamples = new ViewSamples(),
): CompiledGraph {
  const gather = inputGatherer(plan);
  const wrap = isPlain(plan) ? plainWrapper(plan) : wrapper(plan, gather, forward);
  const isFresh = isPlain(plan) ? forward.isFresh : freshOutputs(plan, forward);
  const forSizes = forOtherSizes(plan, forward, backward, views, gather, wrap);
  return Object.assign(wrap(plan.outputs, forward, backward), { isFresh, forSizes });
}

/** Makes the function of a program at some sizes. */
type Wrap = (
  outputs: readonly OutputPlan[],
  forward: SizedGraph,
  backward: BackwardProgram | null,
) => SizedGraph;

function plainWrapper(plan: RuntimePlan): Wrap {
  return (_, forward) => (inputs) => {
    if (inputs.length !== plan.inputCount) throw countError(inputs, plan);
    return runUnrecorded(forward, inputs);
  };
}

function wrapper(
  plan: RuntimePlan,
  gather: (inputs: readonly unknown[]) => readonly unknown[],
  sample: CompiledGraph,
): Wrap {
  const own = ownSaved(plan, sample);
  const grads = gradsOf(plan);
  // Those of other sizes differ in numbers alone.
  const precedesWrite = plan.outputs.map((output) => isMadeBeforeWrite(output, plan));
  const anyPrecedes = precedesWrite.includes(true);
  return (outputs, forward, backward) => {
    const call: SizedGraph = (given) => {
      if (given.length !== plan.inputCount) throw countError(given, plan);
      // Where the plan's positions lead there are tensors; others are handed on.
      const inputs = given as readonly Tensor[];
      const early = anyPrecedes
        ? outputs.map((output, i) => (precedesWrite[i] ? makeOutput(output, inputs, []) : null))
        : null;
      const graphInputs = gather(inputs);
      const generator = rngState();
      for (const position of plan.mutatedPositions) inputs[position]!.storage.keepContents();
      const values = runUnrecorded(forward, graphInputs) as readonly Tensor[];
      for (const position of plan.mutatedPositions) inputs[position]!.storage.version++;
      if (plan.saved !== null && backward !== null && gradMode.enabled) {
        attach(plan, backward, own, inputs, graphInputs, values, generator);
      }
      grads.forEach((grad, i) => {
        if (grad.kind !== 'consumed' && grad.kind !== 'unseen') return;
        const value = values[i]!;
        const node =
          grad.kind === 'unseen'
            ? new UnseenLeaves(value)
            : new ConsumedBackward(value, edgesOf(grad.positions, inputs), grad.modified);
        setHistory(value, node, 0);
      });
      for (const layout of plan.layouts) layOut(inputs[layout.position]!, layout);
      plan.updates.forEach(({ position }, i) => {
        const update = values[plan.valueGrads.length + i]!;
        withoutModes(() => enableGrad(() => inputs[position]!.copy_(update)));
      });
      return outputs.map((output, i) => early?.[i] ?? makeOutput(output, inputs, values));
    };
    // What has history although the program began without gradients got it after it switched them on.
    return plan.gradEnabled ? call : (inputs) => enableGrad(() => call(inputs));
  };
}

/** The program at other sizes, where it is known what the wrapper does there. */
function forOtherSizes(
  { basePositions, layouts, outputs }: RuntimePlan,
  { forSizes }: CompiledGraph,
  backward: BackwardProgram | null,
  views: ViewSamples,
  gather: (inputs: readonly unknown[]) => readonly unknown[],
  wrap: Wrap,
): CompiledGraph['forSizes'] {
  const isFree = basePositions.length === 0 && layouts.length === 0 && outputs.every(isForAllSizes);
  if (forSizes === undefined || !isFree) return undefined;
  const areWhole = outputs.every(isWhole);
  return (sizes, inputs) => {
    const forward = inputs === null ? null : forSizes(sizes, gather(inputs));
    if (forward === null) return null;
    const made = areWhole ? outputs : views.at(sizes, outputs);
    const behind = backward === null ? null : backward.forSizes(sizes);
    if (made === null || (behind === null && backward !== null)) return null;
    return wrap(made, forward, behind);
  };
}

/** Numbers of the saved values that the forward graph made for the backward graph alone: they follow its results. */
function ownSaved({ saved, valueGrads, updates }: RuntimePlan, forward: CompiledGraph): number[] {
  const results = valueGrads.length + updates.length;
  return (saved ?? []).flatMap(({ kind, index }, i) =>
    kind === 'output' && index >= results && forward.isFresh?.(index) === true ? [i] : [],
  );
}

/** Which results of the program are values of the graph that nothing else shares memory with, or reads later. */
function freshOutputs(plan: RuntimePlan, forward: CompiledGraph): (position: number) => boolean {
  const uses = new Map<number, number>();
  const note = (index: number): void => void uses.set(index, (uses.get(index) ?? 0) + 1);
  for (const output of plan.outputs) if ('index' in output) note(output.index);
  for (const { kind, index } of plan.saved ?? []) if (kind === 'output') note(index);
  return (position) => {
    const output = plan.outputs[position];
    if (output?.kind !== 'value' || uses.get(output.index) !== 1) return false;
    return forward.isFresh?.(output.index) === true;
  };
}

/** Gives an input the layout that it has after the program. */
function layOut(input: Tensor, { sizes, strides, distance, differentiable }: LayoutUpdate): void {
  const apply = (): Tensor => asStrided_(input, sizes, strides, input.storageOffset + distance);
  withoutModes(() => (differentiable ? enableGrad(apply) : noGrad(apply)));
}

const NO_MODES: typeof modes.stack = [];

/** Runs compiled code without recording anything: one frame, since this is on every call's path. */
function runUnrecorded(compiled: SizedGraph, inputs: readonly unknown[]): readonly unknown[] {
  const { pre, unseen, stack } = modes;
  const { enabled } = gradMode;
  modes.pre = null;
  modes.unseen = true;
  modes.stack = NO_MODES;
  gradMode.enabled = false;
  try {
    const values = compiled(inputs);
    // A view that the graph made is one of memory that nobody else has.
    for (const value of values) if (isTensor(value)) value.madeAs = null;
    return values;
  } finally {
    modes.pre = pre;
    modes.unseen = unseen;
    modes.stack = stack;
    gradMode.enabled = enabled;
  }
}

/** Whether inputs and outputs of the program and of the graph are the same. */
function isPlain(plan: RuntimePlan): boolean {
  return (
    plan.saved === null &&
    plan.basePositions.length === 0 &&
    plan.mutatedPositions.length === 0 &&
    plan.updates.length === 0 &&
    plan.layouts.length === 0 &&
    plan.inputPositions.length === plan.inputCount &&
    plan.valueGrads.every((grad) => grad.kind === 'none') &&
    plan.outputs.every((output, i) => output.kind === 'value' && output.index === i)
  );
}

function countError(inputs: readonly unknown[], plan: RuntimePlan): TesseraError {
  return new TesseraError(
    'structure-mismatch',
    `The compiled graph takes ${plan.inputCount} inputs, got ${inputs.length}.`,
    {
      context: { expected: plan.inputCount, got: inputs.length },
      hints: ['Call it with the inputs it was compiled for.'],
    },
  );
}

/** The graph's inputs from the program's. */
function inputGatherer(plan: RuntimePlan): (inputs: readonly unknown[]) => readonly unknown[] {
  const { inputPositions, basePositions } = plan;
  if (inputPositions.length === plan.inputCount && basePositions.length === 0)
    return (inputs) => inputs;
  return (inputs) => {
    const gathered: unknown[] = [];
    for (let i = 0; i < inputPositions.length; i++) gathered.push(inputs[inputPositions[i]!]);
    for (const position of basePositions) gathered.push(flatBase(inputs[position] as Tensor));
    return gathered;
  };
}

function flatBase(tensor: Tensor): Tensor {
  const { storage, dtype, device } = tensor;
  const elements = storage.nbytes / storageBytes(device, dtype, 1);
  return makeTensor(storage, dtype, device, [elements], [1], 0);
}

/** How the graph's results take part in autograd: its values, and the inputs that it updates. */
function gradsOf({ valueGrads, updates }: RuntimePlan): ValueGrad[] {
  return [...valueGrads, ...updates.map(({ grad }) => grad)];
}

function edgesOf(positions: readonly number[], inputs: readonly Tensor[]): (Edge | null)[] {
  return positions.map((position) => gradEdge(inputs[position]!));
}

/** Gives the values that require grad their backward node. */
function attach(
  plan: RuntimePlan,
  program: BackwardProgram,
  own: readonly number[],
  inputs: readonly Tensor[],
  graphInputs: readonly unknown[],
  values: readonly Tensor[],
  generator: GeneratorState,
): void {
  const wanted = plan.gradPositions;
  if (!wanted.some((position) => requiresGrad(inputs[position]!))) return;
  const state = [generator.seed | 0, generator.offset | 0];
  const saved = plan.saved!.map(
    ({ kind, index }) => ({ input: graphInputs, output: values, generator: state })[kind][index],
  );
  const targets: Tensor[] = new Array<Tensor>(program.tangents.length);
  gradsOf(plan).forEach((grad, i) => {
    if (grad.kind === 'tangent') targets[grad.index] = values[i]!;
  });
  const metas = targets.map(({ sizes, dtype, device }): GradMeta => ({ sizes, dtype, device }));
  // An edge to what no result leads to would make the engine run what lies behind others on the way there.
  const reached = wanted.map((position, i) =>
    program.reaches[i]! ? gradEdge(inputs[position]!) : null,
  );
  const node = new CompiledFunctionBackward(program, reached, metas, saved, own);
  targets.forEach((target, i) => {
    // The graph may have made it as a view of a tensor that nobody else has.
    target.base = null;
    setHistory(target, node, i);
  });
}

/** Whether a view of an input is made before the program writes to it: a view of what was written may be refused. */
function isMadeBeforeWrite(output: OutputPlan, { layouts }: RuntimePlan): boolean {
  return output.kind === 'input-view' && output.writtenSince && layouts.length === 0;
}

function makeOutput(
  output: OutputPlan,
  inputs: readonly Tensor[],
  values: readonly Tensor[],
): unknown {
  switch (output.kind) {
    case 'value':
      return values[output.index];
    case 'input':
      return inputs[output.position];
    case 'custom-view':
      return withHistoryOf(values[output.index]!, makeAlias(output.of, inputs, values));
    case 'constant':
      return output.value;
    default:
      return makeAlias(output, inputs, values);
  }
}

function makeAlias(plan: AliasPlan, inputs: readonly Tensor[], values: readonly Tensor[]): Tensor {
  return view(plan.kind === 'input-view' ? inputs[plan.position]! : values[plan.index]!, plan);
}

/** Makes an alias a result of the node that made `value`. */
function withHistoryOf(value: Tensor, alias: Tensor): Tensor {
  const node = gradFnOf(value);
  alias.base = null;
  if (node !== null) setHistory(alias, node, value.autograd!.outputNr);
  return alias;
}

function view(base: Tensor, plan: AliasPlan): Tensor {
  const make = (): Tensor => withoutModes(() => replayView(base, plan.steps));
  const made = plan.differentiable ? make() : noGrad(make);
  // What was detached is no view: how the tensor was made that it came from is nothing to it.
  if (made.base !== null) made.madeAs = plan.madeAs ?? base.madeAs;
  if (plan.writtenSince) noteWrittenSince(made);
  return made;
}
