/**
 * @file Event: `backward()` was called.
 *
 * Recording runs the engine on fake tensors, which tells exactly which leaves receive a gradient and what it looks
 * like; the graph gets one `tessera::autograd_grad` node, and each leaf's `.grad` a lazy tensor. A leaf that has a
 * gradient already gets an in-place addition, as in eager. A backward that no graph can hold ends the graph, and
 * the engine runs it.
 */
import type { Node } from '@tessera/graph';
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
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor/internal';
import { BACKWARD_OUTSIDE, type BreakReason, HOOKED_LEAF } from '../breaks/graph-breaks.js';
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import { tensorPattern } from '../cursor/tensor-pattern.js';
import type { Frame } from '../frame/frame.js';
import { type Pattern, type TensorPattern, matchAll, matchPattern } from '../trace/pattern.js';
import { type BackwardStep, type OutSpec, lookThrough } from '../trace/step.js';
import { endsWith } from './break.js';
import { type EventKind, MISS } from './event.js';
import { emit, ownGradients } from './own-gradients.js';
import { ownLeaves } from './own-leaves.js';

/** Whether an op is `grad()` inside a compiled function. */
export function isGradOp(op: unknown): boolean {
  return op === autogradGrad || op === autogradGradTwice || op === autogradGradOuter;
}

/**
 * Whether a recorded `grad()` may miss a way to what is wanted: one that leads through history outside the
 * segment, which has these inputs.
 */
export function leavesSegment(inputs: readonly Tensor[], wanted: readonly Tensor[]): boolean {
  const outside = wanted.filter((tensor) => !tensor.isLazy);
  if (outside.length === 0) return false;
  return inputs.some((tensor) => {
    const isOnlyOne = outside.length === 1 && outside[0] === tensor;
    return !isOnlyOne && requiresGrad(tensor) && gradFnOf(tensor) !== null;
  });
}

/** See the file header. The program is told that the backward is done. */
export const BACKWARD: EventKind<BackwardCall, boolean> = {
  match(cursor, call) {
    for (const step of lookThrough(cursor.at))
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
    const own = call.inputs === null ? ownLeaves(recorder, call.tensors) : [];
    const isRecorded = own.length === 0 && isRecordable(recorder, call);
    const leaves = isRecorded ? candidateLeaves(recorder) : null;
    if (leaves === null) runInEngine(cursor, call, BACKWARD_OUTSIDE, own);
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
  if (inputs?.some((tensor) => tensor.isLazy || gradFnOf(tensor) !== null)) return false;
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

/** Leaves of the current segment that may receive a gradient; null if some history lies outside it. */
function candidateLeaves({ builder, frame }: Recorder): number[] | null {
  const leaves: number[] = [];
  for (const slot of builder.inputSlots) {
    const tensor = frame.slots[slot]!;
    if (!requiresGrad(tensor)) continue;
    if (gradFnOf(tensor) !== null) return null;
    leaves.push(slot);
  }
  return leaves;
}

// ---- matching

/** Whether a call is the recorded one: the same roots, leaves with the same gradients, and no hooks. */
function fits(step: BackwardStep, call: BackwardCall, frame: Frame): boolean {
  if (call.createGraph !== step.createGraph || call.retainGraph !== step.retainGraph) return false;
  if ((call.inputs === null) !== (step.inputs === null)) return false;
  if (
    !matchAll(step.roots, call.tensors, frame) ||
    !matchAll(step.gradTensors, call.gradTensors, frame)
  )
    return false;
  if (step.inputs !== null && !matchAll(step.inputs, call.inputs!, frame)) return false;
  return step.leaves.every(({ leaf, existing }) => {
    const tensor = frame.slots[leaf];
    if (tensor === undefined || hasGradientHooks(tensor) || gradFnOf(tensor) !== null) return false;
    const current = gradientOf(tensor);
    return existing === null
      ? current === null
      : current !== null && matchPattern(existing, current, frame);
  });
}

function accept(cursor: Cursor, step: BackwardStep): void {
  const { frame, specializer } = cursor;
  const specs = frame.shapes.parent === null ? null : specializer.produce(step);
  step.leaves.forEach(({ leaf, grad, existing }, i) => {
    if (existing !== null) return;
    const made = specializer.rebuilding
      ? frame.slots[grad.slot]!
      : frame.produce(specs?.[i] ?? grad);
    setOwnGradient(frame.slots[leaf]!, made);
  });
  cursor.advance(step, step.next);
  frame.announce(step);
  announceLeaves(frame, step);
}

/** What a library does with the gradients follows the backward, as if the program did it. */
function announceLeaves(frame: Frame, step: BackwardStep): void {
  announceCaptured(step.leaves.map(({ leaf }) => frame.slots[leaf]!));
}

// ---- recording

function recordBackward(
  cursor: Cursor,
  recorder: Recorder,
  call: BackwardCall,
  leaves: readonly number[],
): void {
  const { frame } = recorder;
  const roots = call.tensors.map((tensor) => tensorPattern(recorder, tensor));
  const gradTensors = call.gradTensors.map((tensor): Pattern =>
    tensor === null ? { code: 2, value: null } : tensorPattern(recorder, tensor),
  );
  const { inputs, retainGraph, createGraph } = call;
  const wanted =
    inputs === null ? leaves : leaves.filter((slot) => inputs.includes(frame.slots[slot]!));
  const made = addBackward(recorder, { roots, gradTensors, retainGraph, createGraph }, wanted);
  const step: BackwardStep = {
    kind: 'backward',
    roots,
    gradTensors,
    inputs: inputs?.map((tensor) => tensorPattern(recorder, tensor)) ?? null,
    retainGraph,
    createGraph,
    leaves: [],
    next: { steps: [] },
  };
  recorder.alignment.pass('backward');
  cursor.append(step);
  for (const { leaf: slot, node } of made) {
    const leaf = frame.slots[slot]!;
    const existing = gradientOf(leaf);
    const grad = recorder.outSpec(node.meta.val as Tensor, -1, -1);
    const tensor = recorder.bindOut(grad, node);
    if (existing === null) {
      setOwnGradient(leaf, tensor);
      step.leaves.push({ leaf: slot, grad, existing: null });
    } else {
      const pattern = tensorPattern(recorder, existing);
      step.leaves.push({ leaf: slot, grad, existing: pattern });
      accumulate(recorder, pattern, grad);
    }
  }
  cursor.specializer.note(
    step,
    step.leaves.map(({ grad }) => grad),
  );
  frame.announce(step);
  announceLeaves(frame, step);
}

/** Records a matched backward again; returns the gradients at the present sizes. */
export function rebuildBackward(recorder: Recorder, step: BackwardStep): readonly OutSpec[] {
  const { frame } = recorder;
  const again = (pattern: TensorPattern): void =>
    void tensorPattern(recorder, frame.slots[pattern.slot]!, pattern);
  for (const pattern of [...step.roots, ...step.gradTensors])
    if (pattern.code === 0 || pattern.code === 1) again(pattern);
  const wanted = step.leaves.map(({ leaf }) => leaf);
  const made = addBackward(recorder, step, wanted);
  return step.leaves.map(({ leaf, grad, existing }) => {
    const { node } = made.find((other) => other.leaf === leaf)!;
    // The replay has set, and the program perhaps replaced, the gradients themselves.
    const spec = recorder.outSpec(node.meta.val as Tensor, -1, grad.slot);
    recorder.bindOut(spec, node);
    if (existing !== null) {
      again(existing);
      accumulate(recorder, existing, spec);
    }
    return spec;
  });
}

type RecordedBackward = Pick<BackwardStep, 'roots' | 'gradTensors' | 'retainGraph' | 'createGraph'>;

/** Runs the engine on fake tensors and adds the node; returns the gradients of the leaves that have one. */
function addBackward(
  recorder: Recorder,
  { roots, gradTensors, retainGraph, createGraph }: RecordedBackward,
  leaves: readonly number[],
): { readonly node: Node; readonly leaf: number }[] {
  const { builder } = recorder;
  const rootSlots = roots.map((pattern) => (pattern as TensorPattern).slot);
  const gradSlots = gradTensors.map((pattern) => ('slot' in pattern ? pattern.slot : null));
  const gradients = withPreDispatchMode(null, () =>
    withFakeTensors(() =>
      runBackward(
        rootSlots.map((slot) => builder.fake(slot)),
        gradSlots.map((slot) => (slot === null ? null : builder.fake(slot))),
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
  const used = leaves.filter((_, i) => gradients[i] !== null);
  const fakes = gradients.filter((grad) => grad !== null);
  const node = builder.graph.callFunction(createGraph ? autogradGradTwice : autogradGrad, [
    rootSlots.map((slot) => builder.node(slot)),
    gradSlots.map((slot) => (slot === null ? null : builder.node(slot))),
    used.map((slot) => builder.node(slot)),
    retainGraph,
  ]);
  builder.opCount++;
  const leafFakes = used.map((slot) => builder.fake(slot));
  const own = ownGradients(recorder, fakes, leafFakes, node, createGraph);
  return own.map((gradient, i) => ({ node: gradient, leaf: used[i]! }));
}

/** `existing += gradient` in the graph; the backward step stands for it in replays. */
function accumulate(recorder: Recorder, existing: TensorPattern, { slot }: OutSpec): void {
  const { builder } = recorder;
  const [before, gradient] = [builder.node(existing.slot), builder.node(slot)];
  builder.noteMutated(
    existing.slot,
    emit(recorder, 'aten::add_.Tensor', [before, gradient, 1], true),
  );
}
