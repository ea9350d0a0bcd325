/**
 * @file Event: the function returned, or threw. Decides which values the segments of a recorded call must return.
 */
import { Node, getItem, tensorVal } from '@tessera/graph';
import { type Steps, atOnce } from '@tessera/shared';
import { OpOverload, type Tensor } from '@tessera/tensor';
import { gradientOf } from '@tessera/tensor/internal';
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import { NOWHERE, walk } from '../guards/walk.js';
import type { Segment } from '../trace/segment.js';
import { finishSegment, fitsCall, runCompiled } from './break.js';
import { type EventKind, MISS } from './event.js';

/** See the file header. Called with the function's result; whether compiled code of an earlier call ran. */
export const RETURN: EventKind<unknown, boolean> = {
  match(cursor) {
    for (const step of cursor.at.steps) {
      if (step.kind !== 'return' || !fitsCall(cursor, step.segment)) continue;
      runCompiled(cursor, step.segment);
      return true;
    }
    return MISS;
  },

  record(cursor, recorder, result) {
    const last = finishSegment(cursor, recorder);
    cursor.frame.finished.push(last);
    recorder.segments.push(last);
    seal(recorder, cursor.frame.finished, result);
    cursor.append({ kind: 'return', segment: last });
    if (recorder.options.recordOnly === true) return false;
    if (recorder.isOutdated || last.isSplit) {
      // The next call records another path: this one is not worth compiling.
      cursor.frame.runByOperator(last);
      return false;
    }
    cursor.frame.runSegment(last);
    // Those before a break ran operator by operator; the next call finds them compiled.
    for (const segment of recorder.segments)
      if (segment !== last) atOnce(segment.preparing(cursor.frame));
    return false;
  },

  run: () => false,

  describe(_result, at) {
    return {
      text: at.steps.some((step) => step.kind === 'return')
        ? 'an operator gave a longer list, or tensors that the function modifies share memory in another way, than in the recorded call'
        : 'the function returned earlier than the recorded call',
    };
  },
};

/** Compiles, with pauses, what a recorded call will run at its end: ending it then finds the code. */
export function* preparing(cursor: Cursor, result: unknown): Steps<void> {
  const { frame, recorder } = cursor;
  if (recorder === null || recorder.options.recordOnly === true || recorder.isOutdated) return;
  const last = finishSegment(cursor, recorder);
  seal(recorder, [...frame.finished, last], result);
  yield;
  for (const segment of [...recorder.segments, last]) yield* segment.preparing(frame);
}

/**
 * After an exception of the program: what it had asked for so far happens, as in eager. The segments that
 * ran before it are complete, so that the next call finds them.
 */
export function abortRecording(
  cursor: Cursor,
  recorder: Recorder,
  error: unknown = undefined,
): void {
  const last = recorder.finishSegment();
  if (recorder.builder.opCount > 0) cursor.frame.runByOperator(last);
  seal(recorder, cursor.frame.finished, error, last);
}

/** Takes back gradients that a `backward()` which was only recorded gave to tensors from outside: they have no values. */
export function dropGradients({ externals, frame }: Recorder): void {
  for (const [{ autograd }] of externals) {
    const grad = autograd?.grad;
    if (grad != null && frame.slotOf(grad) >= 0) autograd!.grad = null;
  }
}

/** Gives segments their outputs; `unfinished` is read, and not sealed. */
function seal(
  recorder: Recorder,
  segments: readonly Segment[],
  result: unknown,
  unfinished?: Segment,
): void {
  const all = unfinished === undefined ? segments : [...segments, unfinished];
  const needed = neededSlots(recorder, result, all);
  for (const segment of segments) {
    segment.addOutputs(needed);
    segment.addOutputs(segment.basesOf(recorder.frame.watched));
    segment.sealed = true;
  }
}

/** Slots that outlive the call or are read by a later segment. */
function neededSlots(
  { frame, options, owners, visible }: Recorder,
  result: unknown,
  segments: readonly Segment[],
): Set<number> {
  const needed = new Set<number>(frame.reads);
  const note = (tensor: Tensor | null | undefined): void => {
    const slot = tensor == null ? -1 : frame.slotOf(tensor);
    if (slot >= 0) needed.add(slot);
  };
  const reachable = (value: unknown): void => walk(value, NOWHERE, { tensor: note });
  reachable(result);
  for (const root of options.sources.roots) reachable(root.value);
  for (const owner of owners) reachable(owner);
  for (const segment of segments) {
    for (const { slot } of segment.inputs) {
      if (slot < 0) continue;
      needed.add(slot);
      note(frame.slots[slot] && gradientOf(frame.slots[slot]));
    }
  }
  const kept: number[] = [];
  for (const slot of visible) {
    if (needed.has(slot)) continue;
    const segment = segments.find(({ produced }) => produced.has(slot));
    const node = segment?.produced.get(slot);
    if (node !== undefined && mayBeKept(node, segment!, needed)) kept.push(slot);
  }
  return new Set([...needed, ...kept]);
}

/** Operators that fill new memory. */
const FILLING = /::(new_)?(zeros|ones|full|empty)(_like|_strided)?\b/;

/**
 * Whether somebody may have kept a value that the program does not return: nothing uses it (nor another result of the
 * operator), or it has memory of its own that is written and never read; or it looks like state that the
 * program begins, for calls that find it there, without gradients: a copy, or filled and then written to.
 */
function mayBeKept(node: Node, segment: Segment, needed: ReadonlySet<number>): boolean {
  const { target, users } = node;
  if (users.size === 0) return !isBeside(node, (other) => needed.has(segment.slotOf(other) ?? -1));
  if (!(target instanceof OpOverload)) return false;
  const { storage, requiresGradFlag } = tensorVal(node)!;
  const writing = segment.writers.get(storage);
  const { qualifiedName } = target;
  if (!requiresGradFlag && qualifiedName.startsWith('aten::clone')) return true;
  if (writing === undefined || isView(target)) return false;
  if (!requiresGradFlag && FILLING.test(qualifiedName)) return true;
  return isNeverRead(node, writing);
}

/**
 * Whether a value came with another result of an operator of PyTorch's, and that is used: the indices of `x.max(1)[0]`.
 * What else gives several may give a state, which is kept for the next call: a recurrent layer, operators of the program.
 */
function isBeside({ target, args }: Node, isNeeded: (node: Node) => boolean): boolean {
  const [of] = args;
  if (target !== getItem || !(of instanceof Node)) return false;
  const isKnown = of.target instanceof OpOverload && of.target.schema.namespace === 'aten';
  return isKnown && [...of.users.keys()].some((other) => other.users.size > 0 || isNeeded(other));
}

/** Whether nothing uses a value but views of it and operators that write to its memory, nor what those give. */
function isNeverRead({ users }: Node, writing: readonly Node[]): boolean {
  return [...users.keys()].every(
    (user) => (writing.includes(user) || isView(user.target)) && isNeverRead(user, writing),
  );
}

function isView(target: unknown): boolean {
  return target instanceof OpOverload && target.schema.isView;
}
