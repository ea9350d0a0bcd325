/**
 * @file Event: `backward()` was called.
 *
 * Recording runs the engine on fake tensors, which tells exactly which leaves receive a gradient and what it looks
 * like; the graph gets one `tessera::autograd_grad` node, and each leaf's `.grad` a lazy tensor. A leaf that has a
 * gradient already gets an in-place addition, as in eager. A backward that no graph can hold ends the graph, and
 * the engine runs it.
 */
import type { Tensor } from '@tessera/tensor';
import {
  announceCaptured,
  autogradGrad,
  autogradGradOuter,
  autogradGradTwice,
  type BackwardCall,
  backwardOutsideGraph,
  gradFnOf,
  gradientOf,
  hasGradientHooks,
  requiresGrad,
  runBackward,
  setOwnGradient,
  tracedHostCalls,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor/internal';
import {
  BACKWARD_OUTSIDE,
  type BreakReason,
  HOOKED_LEAF,
  HOOK_CALLED,
} from '../breaks/graph-breaks.js';
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import { tensorPattern } from '../cursor/arguments.js';
import type { Frame } from '../frame/frame.js';
import { type Pattern, instantiate, matchAll } from '../trace/pattern.js';
import type { BackwardStep, OutSpec } from '../trace/step.js';
import { endsWith } from './break.js';
import { type EventKind, MISS } from './event.js';
import { emit, ownGradients } from './own-gradients.js';
import { reachedFrom } from './reached-from.js';
import { tensorVal } from '@tessera/graph';

/** Whether an op is `grad()` inside a compiled function. */
export function isGradOp(op: unknown): boolean {
  return op === autogradGrad || op === autogradGradTwice || op === autogradGradOuter;
}

/**
 * Whether a recorded `grad()` may miss a way to what is wanted: one that leads through history outside the
 * segment, whose inputs these are, as far as what is differentiated may be made of them.
 */
export function leavesSegment(inputs: readonly Tensor[], wanted: readonly Tensor[]): boolean {
  const outside = wanted.filter((tensor) => !tensor.isLazy);
  if (outside.length === 0) return false;
  return inputs.some((tensor) => {
    const isOnlyOne = outside.length === 1 && outside[0] === tensor;
    return !isOnlyOne && requiresGrad(tensor) && gradFnOf(tensor) !== null;
  });
}

/**
 * Lets `pass` record or match a backward pass, and ends the graph behind it if it calls hooks of modules: a trace holds
 * these as operators, and what they do (count, print) has its place before what comes after `backward()`.
 */
export function endAfterHooks<R>(cursor: Cursor, pass: () => R): R {
  const calls = tracedHostCalls();
  const result = pass();
  if (tracedHostCalls() > calls || endsWith(cursor.at, HOOK_CALLED)) cursor.breakGraph(HOOK_CALLED);
  return result;
}

/** See the file header. The program is told that the backward is done. */
export const BACKWARD: EventKind<BackwardCall, boolean> = {
  match(cursor, call) {
    for (const step of cursor.at.steps)
      if (step.kind === 'backward' && fits(step, call, cursor.frame)) {
        accept(cursor, step);
        return true;
      }
    const reason = breakWhenMatching(cursor, call);
    if (reason === null) return MISS;
    runInEngine(cursor, call, reason);
    return true;
  },

  record(cursor, recorder, call) {
    settleGradients(recorder);
    const { ownLeaves, historyBefore } = reachedFrom(recorder, call.tensors);
    const own = call.inputs === null ? ownLeaves : [];
    const leaves = candidateLeaves(recorder);
    if (historyBefore || own.length > 0 || !isRecordable(recorder, call))
      runInEngine(cursor, call, BACKWARD_OUTSIDE, own);
    else if (leaves.some((slot) => hasGradientHooks(recorder.frame.slots[slot]!)))
      runInEngine(cursor, call, HOOKED_LEAF);
    else recordBackward(cursor, recorder, call, leaves);
    return true;
  },

  run: () => false,

  describe: () => ({
    text: 'backward() was called where the recorded call did not, or gradients were set differently',
  }),
};

/** Computes gradients that other calls owe, which may end this graph: they are added to in it. */
function settleGradients({ builder, frame }: Recorder): void {
  for (const slot of builder.inputSlots) {
    const grad = gradientOf(frame.slots[slot]!);
    if (grad !== null && frame.slotOf(grad) < 0) void grad.storage;
  }
}

// ---- backwards that no graph can hold

/** Ends the graph, and lets the engine run a backward unrecorded; `own`: leaves that the segment made. */
function runInEngine(
  cursor: Cursor,
  call: BackwardCall,
  reason: BreakReason,
  own: readonly Tensor[] = [],
): void {
  cursor.frame.noteReads([call.tensors, call.gradTensors, own]);
  cursor.onWatch(call.inputs ?? own);
  cursor.breakGraph(reason);
  withPreDispatchMode(null, () => backwardOutsideGraph(call));
}

/** Why the engine must run a backward: it did when recorded, or the roots are computed already. */
function breakWhenMatching({ at, frame }: Cursor, call: BackwardCall): BreakReason | null {
  if (call.tensors.some((root) => frame.slotOf(root) < 0 || !root.isLazy)) return BACKWARD_OUTSIDE;
  return [BACKWARD_OUTSIDE, HOOKED_LEAF].find((reason) => endsWith(at, reason)) ?? null;
}

function isRecordable(recorder: Recorder, call: BackwardCall): boolean {
  const { frame } = recorder;
  const { createGraph, inputs, tensors } = call;
  // What has history is added to out of place, by the engine.
  if (createGraph && (!frame.gradMode || givesTwice(recorder, call))) return false;
  // Only leaves take gradients from a recorded backward.
  const own = recorder.builder.leaves.map(({ slot }) => frame.slots[slot]!);
  if (inputs?.some((x) => (x.isLazy ? !own.includes(x) : gradFnOf(x) !== null))) return false;
  return tensors.every(
    (tensor) => frame.slotOf(tensor) >= 0 && tensor.isLazy && tensor.requiresGradFlag,
  );
}

/** Whether a leaf that may receive a gradient has one already. */
function givesTwice(recorder: Recorder, { inputs }: BackwardCall): boolean {
  return (inputs ?? recorder.inputs).some(
    (leaf) => requiresGrad(leaf) && gradientOf(leaf) !== null,
  );
}

/** Inputs of the current segment, and leaves made in it, that may receive a gradient. */
function candidateLeaves({ builder, frame }: Recorder): number[] {
  const given = builder.inputSlots.filter((slot) => {
    const tensor = frame.slots[slot]!;
    return requiresGrad(tensor) && gradFnOf(tensor) === null;
  });
  const made = builder.leaves.map(({ slot }) => slot);
  return [...given, ...made.filter((slot) => frame.slots[slot]!.requiresGradFlag)];
}

// ---- matching

/** What the patterns of a step are about; see `BackwardStep`. */
type Arguments = readonly [
  tensors: readonly Tensor[],
  gradTensors: readonly (Tensor | null)[],
  inputs: readonly Tensor[] | null,
  retainGraph: boolean,
  createGraph: boolean,
  existing: readonly (Tensor | null)[],
];

function argumentsOf(call: BackwardCall, leaves: readonly Tensor[]): Arguments {
  const { tensors, gradTensors, inputs, retainGraph, createGraph } = call;
  return [tensors, gradTensors, inputs, retainGraph, createGraph, leaves.map(gradientOf)];
}

/** Whether a call is the recorded one: the same roots, leaves with the same gradients, and no hooks. */
function fits(step: BackwardStep, call: BackwardCall, frame: Frame): boolean {
  const leaves = step.leaves.flatMap(({ leaf }) => frame.slots[leaf] ?? []);
  return (
    leaves.length === step.leaves.length &&
    leaves.every((leaf) => !hasGradientHooks(leaf) && (leaf.isLazy || gradFnOf(leaf) === null)) &&
    matchAll(step.args, argumentsOf(call, leaves), frame)
  );
}

function accept(cursor: Cursor, step: BackwardStep): void {
  const { frame, specializer } = cursor;
  const specs = frame.shapes.parent === null ? null : specializer.produce(step, null);
  if (!specializer.rebuilding)
    step.leaves.forEach(({ grad }, i) => {
      if (existingOf(step, i) === NONE) frame.produce(specs?.[i] ?? grad);
    });
  cursor.advance(step, step.next);
  giveGradients(frame, step);
}

/** Leaves without gradients get the new ones. */
function giveGradients(frame: Frame, step: BackwardStep): void {
  const leaves = step.leaves.map(({ leaf }) => frame.slots[leaf]!);
  step.leaves.forEach(({ grad }, i) => {
    if (existingOf(step, i) === NONE) setOwnGradient(leaves[i]!, frame.slots[grad.slot]!);
  });
  frame.announce(step);
  // What a library does with the gradients follows the backward, as if the program did it.
  announceCaptured(leaves);
}

/** No tensor, in a list of them. */
const NONE: Pattern = { code: 2, value: null };

/** The gradient that leaf `i` of a step has already; `NONE` if it has none. */
function existingOf({ args }: Pick<BackwardStep, 'args'>, i: number): Pattern {
  return itemOf(args.at(-1)!, i)!;
}

function itemOf(list: Pattern, i: number): Pattern | null {
  return list.code === 3 ? list.items[i]! : null;
}

// ---- recording

function recordBackward(
  cursor: Cursor,
  recorder: Recorder,
  call: BackwardCall,
  leaves: readonly number[],
): void {
  const { frame } = recorder;
  const { inputs } = call;
  const wanted =
    inputs === null ? leaves : leaves.filter((slot) => inputs.includes(frame.slots[slot]!));
  const args = argumentsOf(
    call,
    wanted.map((slot) => frame.slots[slot]!),
  );
  const added = addBackward(recorder, args, wanted, null);
  const step: BackwardStep = { kind: 'backward', ...added, next: { steps: [] } };
  recorder.alignment.pass('backward');
  cursor.append(step);
  cursor.specializer.note(step, null, { outs: step.leaves.map(({ grad }) => grad) });
  noteVarying(recorder, step.leaves);
  giveGradients(frame, step);
}

/** What gradients look like may follow symbols, even where their leaves do not. */
function noteVarying({ varying }: Recorder, leaves: BackwardStep['leaves']): void {
  for (const { grad } of leaves) varying.add(grad.slot);
}

/** Records a matched backward again; returns the gradients at the present sizes. */
export function rebuildBackward(recorder: Recorder, step: BackwardStep): readonly OutSpec[] {
  const args = step.args.map((pattern) => instantiate(pattern, recorder.frame));
  const leaves = step.leaves.map(({ leaf }) => leaf);
  // The replay has set, and the program perhaps replaced, the gradients themselves.
  const { leaves: made } = addBackward(recorder, args as unknown as Arguments, leaves, step);
  noteVarying(recorder, made);
  return made.map(({ grad }) => grad);
}

/**
 * Runs the engine on fake tensors, adds the node, and the new gradients to those that leaves have.
 *
 * @param leaves slots of those that may get one, with their gradients at the end of the arguments
 * @param known the step that is recorded again
 */
function addBackward(
  recorder: Recorder,
  [tensors, gradTensors, inputs, retainGraph, createGraph, existing]: Arguments,
  leaves: readonly number[],
  known: BackwardStep | null,
): Pick<BackwardStep, 'args' | 'leaves'> {
  const { builder } = recorder;
  const patterns: Pattern[] = [];
  const list = (of: readonly (Tensor | null)[]): readonly (number | null)[] => {
    const before = known?.args[patterns.length];
    const items = of.map((tensor, i) =>
      tensor === null ? NONE : tensorPattern(recorder, tensor, before && itemOf(before, i)),
    );
    patterns.push({ code: 3, items });
    return items.map((item) => ('slot' in item ? item.slot : null));
  };
  const roots = list(tensors) as readonly number[];
  const gradients = list(gradTensors);
  const fakes = withPreDispatchMode(null, () =>
    withFakeTensors(() =>
      runBackward(
        roots.map((slot) => builder.fake(slot)),
        gradients.map((slot) => (slot === null ? null : builder.fake(slot))),
        {
          // A second backward is the error that it is in eager.
          retainGraph,
          createGraph,
          inputs: leaves.map((slot) => builder.fake(slot)),
          accumulate: false,
          allowUnused: true,
        },
      ),
    ),
  );
  const used = leaves.filter((_, i) => fakes[i] !== null);
  const node = builder.graph.callFunction(createGraph ? autogradGradTwice : autogradGrad, [
    roots.map((slot) => builder.node(slot)),
    gradients.map((slot) => (slot === null ? null : builder.node(slot))),
    used.map((slot) => builder.node(slot)),
    retainGraph,
  ]);
  builder.opCount++;
  const own = ownGradients(
    recorder,
    fakes.filter((fake) => fake !== null),
    used.map((slot) => builder.fake(slot)),
    node,
    createGraph,
  );
  if (inputs === null) patterns.push(NONE);
  else list(inputs);
  patterns.push({ code: 2, value: retainGraph }, { code: 2, value: createGraph });
  const made = used.map((leaf, i) => {
    const grad = recorder.outSpec(tensorVal(own[i])!, -1, known?.leaves[i]!.grad.slot ?? -1);
    recorder.bindOut(grad, own[i]!);
    return { leaf, grad };
  });
  list(existing.filter((_, i) => fakes[i] !== null)).forEach((slot, i) => {
    if (slot === null) return;
    const args = [builder.node(slot), own[i]!, 1];
    builder.noteMutated(slot, emit(recorder, 'aten::add_.Tensor', args, true));
  });
  return { args: patterns, leaves: made };
}
