/**
 * @file Event: `backward()` was called.
 *
 * It is the operator that `grad()` is, `tessera::autograd_grad`, of the leaves that it reaches, and what it gives becomes
 * their `.grad`. A leaf that has a gradient already gets an in-place addition, as in eager. A backward that no graph can
 * hold ends the graph, and the engine runs it.
 */
import type { OpOverload, Tensor } from '@tessera/tensor';
import {
  announceCaptured,
  autogradGrad,
  autogradGradTwice,
  type BackwardCall,
  backwardOutsideGraph,
  getOp,
  gradFnOf,
  gradientOf,
  hasGradientHooks,
  requiresGrad,
  setOwnGradient,
  tracedHostCalls,
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
import type { Frame } from '../frame/frame.js';
import { asRecorded } from '../trace/as-recorded.js';
import { instantiate } from '../trace/pattern.js';
import type { OpStep } from '../trace/step.js';
import { endsWith } from './break.js';
import { type EventKind, MISS } from './event.js';
import { OPERATOR, acceptOperator, matchesOperator } from './operator.js';
import { reachedFrom } from './reached-from.js';

const DIFFERENT =
  'backward() was called where the recorded call did not, or gradients were set differently';

const ADD = getOp('aten::add_.Tensor');

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

/** See the file header. Whether it is done: otherwise the engine runs it. */
export const BACKWARD: EventKind<BackwardCall, boolean> = {
  match(cursor, call) {
    for (const step of cursor.at.steps) {
      if (step.kind !== 'op') continue;
      const args = argumentsFor(step, call, cursor.frame);
      if (args === null || !matchesOperator(step, args, cursor.frame)) continue;
      const grads = acceptOperator(cursor, step, args, () => null);
      return grads !== null && giveGradients(cursor, args[2], grads as Gradients);
    }
    const reason = breakWhenMatching(cursor, call);
    if (reason === null) return MISS;
    runInEngine(cursor, call, reason);
    return true;
  },

  record(cursor, recorder, call) {
    settleGradients(recorder);
    const { leaves, ownLeaves, historyBefore } = reachedFrom(recorder, call.tensors);
    const own = call.inputs === null ? ownLeaves : [];
    if (historyBefore || own.length > 0 || !isRecordable(recorder, call))
      runInEngine(cursor, call, BACKWARD_OUTSIDE, own);
    else if (leaves.some(hasGradientHooks)) runInEngine(cursor, call, HOOKED_LEAF);
    else {
      const op = operatorFor(call);
      const args = argumentsOf(call, leaves);
      const gives = call.inputs === null ? 'all' : 'named';
      const grads = OPERATOR.record(cursor, recorder, { op, args, gives });
      giveGradients(cursor, args[2], grads as Gradients);
    }
    return true;
  },

  run: () => false,

  describe: () => ({ text: DIFFERENT }),
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

// ---- as an operator

/** Arguments of `tessera::autograd_grad`. */
type Arguments = readonly [
  tensors: readonly Tensor[],
  gradTensors: readonly (Tensor | null)[],
  leaves: readonly Tensor[],
  retainGraph: boolean,
];

type Gradients = readonly (Tensor | null)[];

function operatorFor({ createGraph }: BackwardCall): OpOverload {
  return createGraph ? autogradGradTwice : autogradGrad;
}

/** @param reached leaves that take gradients where none are named */
function argumentsOf(
  { tensors, gradTensors, inputs, retainGraph }: BackwardCall,
  reached: readonly Tensor[],
): Arguments {
  return [tensors, gradTensors, inputs === null ? reached : [...new Set(inputs)], retainGraph];
}

/** What a step must be given to be this call; null if it is for other leaves, or hooks see gradients. */
function argumentsFor(step: OpStep, call: BackwardCall, frame: Frame): Arguments | null {
  const gives = call.inputs === null ? 'all' : 'named';
  if (step.gives !== gives || step.op !== operatorFor(call)) return null;
  if (step.gradMode !== frame.gradMode) return null;
  const leaves = gives === 'named' ? [] : (instantiate(step.args[2]!, frame) as Tensor[]);
  const args = argumentsOf(call, leaves);
  return args[2].every(isPlainLeaf) ? args : null;
}

function isPlainLeaf(leaf: Tensor | undefined): boolean {
  if (leaf === undefined || hasGradientHooks(leaf)) return false;
  return leaf.isLazy || gradFnOf(leaf) === null;
}

function add(cursor: Cursor, before: Tensor, grad: Tensor): void {
  const args = [before, grad, 1];
  cursor.frame.announceOp(ADD, args);
  asRecorded(false, () => cursor.event(OPERATOR, { op: ADD, args, text: DIFFERENT }));
}

/** Leaves get their gradients, which are added to those that they have. */
function giveGradients(cursor: Cursor, leaves: readonly Tensor[], grads: Gradients): true {
  const given = leaves.filter((_, i) => grads[i] != null);
  grads.forEach((grad, i) => {
    if (grad === null) return;
    const before = gradientOf(leaves[i]!);
    if (before === null) setOwnGradient(leaves[i]!, grad);
    else add(cursor, before, grad);
  });
  // What a library does with the gradients follows the backward, as if the program did it.
  announceCaptured(given);
  return true;
}
