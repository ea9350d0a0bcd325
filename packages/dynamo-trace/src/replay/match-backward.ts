/**
 * @file Whether a `backward()` is the recorded one, or one that the engine runs.
 */
import { type BackwardCall, type Tensor, gradFnOf, hasGradientHooks } from '@tessera/tensor';
import { BACKWARD_OUTSIDE, type BreakReason, HOOKED_LEAF } from '../breaks/graph-breaks.js';
import { leavesSegment } from '../capture/capture-backward.js';
import { matchAll, matchPattern, slotsOf } from '../trace/pattern.js';
import type { Run } from '../trace/run.js';
import type { BackwardStep, Branch } from '../trace/step.js';
import type { Replay } from './replay.js';

/** Whether a call is the recorded one: the same roots, leaves with the same gradients, and no hooks. */
export function fitsBackward(step: BackwardStep, call: BackwardCall, run: Run): boolean {
  if (call.createGraph !== step.createGraph || call.retainGraph !== step.retainGraph) return false;
  if ((call.inputs === null) !== (step.inputs === null)) return false;
  if (
    !matchAll(step.roots, call.tensors, run) ||
    !matchAll(step.gradTensors, call.gradTensors, run)
  )
    return false;
  if (step.inputs !== null && !matchAll(step.inputs, call.inputs!, run)) return false;
  for (const { leaf, existing } of step.leaves) {
    const tensor = run.slots[leaf];
    if (tensor === undefined || hasGradientHooks(tensor) || gradFnOf(tensor) !== null) return false;
    const current = tensor.autograd?.grad ?? null;
    if (
      existing === null
        ? current !== null
        : current === null || !matchPattern(existing, current, run)
    )
      return false;
  }
  return true;
}

/** Why the engine must run a backward: it was so when captured, or the roots are computed already. */
export function backwardBreak(cursor: Branch, call: BackwardCall, run: Run): BreakReason | null {
  if (call.tensors.some((root) => root.traceOwner !== run.id || !root.isLazy))
    return BACKWARD_OUTSIDE;
  return [BACKWARD_OUTSIDE, HOOKED_LEAF].find(({ code }) => endsWith(cursor, code)) ?? null;
}

/** Why the engine must run a `grad()`: it was so when captured, or an input of the segment has gained history. */
export function gradBreak(
  { cursor, matched, run }: Replay,
  args: readonly unknown[],
): BreakReason | null {
  if (endsWith(cursor, BACKWARD_OUTSIDE.code)) return BACKWARD_OUTSIDE;
  const slots = new Set(
    matched.flatMap((step) => (step.kind === 'op' ? step.args.flatMap(slotsOf) : [])),
  );
  // What a region that was jumped over made for itself has no tensor.
  const inputs = [...slots].flatMap((slot) => run.slots[slot] ?? []).filter((t) => !t.isLazy);
  return leavesSegment(inputs, args[2] as readonly Tensor[]) ? BACKWARD_OUTSIDE : null;
}

/** Whether the graph ends here for the reason of that code. */
function endsWith(cursor: Branch, code: string): boolean {
  return cursor.steps.some((step) => step.kind === 'flush' && step.reason.code === code);
}
