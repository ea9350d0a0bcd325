/**
 * @file Event: the function returned, or threw. Decides which values the segments of a recorded call must return.
 */
import { Node, getItem, tensorVal } from '@tessera/graph';
import { type Steps, atOnce } from '@tessera/shared';
import { OpOverload, type Tensor } from '@tessera/tensor';
import type { Cursor } from '../cursor/cursor.js';
import type { SizedCode } from '../dynamic/shape-binding.js';
import { takenBy } from '../frame/earlier-frames.js';
import type { Frame } from '../frame/frame.js';
import { NOWHERE, walk } from '../guards/walk.js';
import type { Segment } from '../trace/segment.js';
import { finishSegment, fitsCall, runCompiled } from './break.js';
import { type EventKind, MISS } from './event.js';

/** See the file header. Called with the function's result; whether compiled code of an earlier call ran. */
export const RETURN: EventKind<unknown, boolean> = {
  match(cursor, result) {
    for (const step of cursor.at.steps) {
      if (step.kind !== 'return' || !fitsCall(cursor, step.segment)) continue;
      cursor.frame.segment = step.segment;
      // Some were recorded in this call, or in one that has not ended, or never will.
      if (cursor.mustSeal || !step.segment.sealed) seal(cursor, result);
      runCompiled(cursor, step.segment);
      if (cursor.recorded.length > 0) compileRecorded(cursor);
      return true;
    }
    return MISS;
  },

  record(cursor, recorder, result) {
    const { frame } = cursor;
    const last = finishSegment(cursor, recorder);
    seal(cursor, result);
    cursor.append({ kind: 'return', segment: last });
    // Where the next call records another path, this one is not worth compiling.
    if (cursor.isOutdated || last.isSplit) frame.runByOperator(last);
    else frame.runSegment(last);
    if (cursor.recorded.length > 1) compileRecorded(cursor);
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

/** Recorded segments before a break ran operator by operator; the next call finds them compiled. */
function compileRecorded({ recorded, isOutdated, frame: last }: Cursor): void {
  if (isOutdated) return;
  for (const frame of recorded) if (frame !== last) atOnce(frame.segment!.preparing(frame));
}

/** Compiles, with pauses, what a recorded call will run at its end: ending it then finds the code. */
export function* preparing(cursor: Cursor, result: unknown): Steps<void> {
  const { recorder, recorded, frame, at } = cursor;
  if (cursor.isOutdated || cursor.passing) return;
  const known = at.steps.find((step) => step.kind === 'return')?.segment ?? null;
  frame.segment = recorder === null ? known : finishSegment(cursor, recorder);
  seal(cursor, result);
  yield;
  for (const frame of recorded) yield* frame.segment!.preparing(frame);
}

/**
 * After an exception of the program: what it had asked for so far happens, as in eager. The segments that
 * ran before it are complete, so that the next call finds them.
 */
export function abortCall(cursor: Cursor, error: unknown): void {
  const { frame, host, recorded, atSegmentStart } = cursor;
  if (!atSegmentStart) {
    const recorder = cursor.recorder ?? host.rebuild(cursor);
    frame.segment = recorder.finishSegment();
    if (recorder.builder.opCount > 0) frame.runByOperator(frame.segment);
  }
  if (recorded.length > 0) seal(cursor, error);
}

/** Gives the segments of a call, of which some have none yet, their outputs. */
export function seal(cursor: Cursor, result: unknown): void {
  const frames = [...cursor.earlier.kept];
  if (cursor.frame.segment !== null) frames.push(cursor.frame);
  const needed = neededTensors(cursor, frames, result);
  if (cursor.earlier.past.size > 0) for (const tensor of needed) cursor.earlier.need(tensor);
  const segments = new Set(cursor.earlier.past);
  for (const { reads, watched, slots, segment } of frames) {
    segments.add(segment!);
    const wanted = [...reads, ...segment!.basesOf(watched)];
    for (const slot of segment!.produced.keys()) if (needed.has(slots[slot]!)) wanted.push(slot);
    segment!.addOutputs(wanted);
  }
  for (const segment of segments) {
    if (segment.sealed) continue;
    const wanted = new Set(segment.outputs);
    const kept: number[] = [];
    for (const slot of segment.visible)
      if (!wanted.has(slot) && mayBeKept(segment, slot, wanted)) kept.push(slot);
    segment.addOutputs(kept);
    segment.sealed = true;
  }
  for (const frame of frames) {
    const { shapes, segment } = frame;
    const { sharing } = segment!;
    // It serves the sizes of its recording itself, unless other calls may share memory at other offsets.
    if (cursor.recorded.includes(frame) && shapes.parent !== null && sharing === null)
      (shapes.codes ??= new Map<Segment, SizedCode>()).set(segment!, {
        segment: segment!,
        proven: null,
        outputs: segment!.outputs,
      });
  }
}

/** Values that outlive the call or are read by a later segment. */
function neededTensors(
  { host, owners }: Cursor,
  frames: readonly Frame[],
  result: unknown,
): Set<Tensor> {
  const needed = new Set<Tensor>();
  const note = (tensor: Tensor): void => void needed.add(tensor);
  const reachable = (value: unknown): void => walk(value, NOWHERE, { tensor: note });
  reachable(result);
  host.roots().forEach(reachable);
  for (const owner of owners) reachable(owner);
  for (const frame of frames) takenBy(frame).forEach(note);
  return needed;
}

/** Operators that fill new memory. */
const FILLING = /::(new_)?(zeros|ones|full|empty)(_like|_strided)?\b/;

/**
 * Whether somebody may have kept a value that the program does not return: nothing uses it (nor another result of the
 * operator), or it has memory of its own that is written and never read; or it looks like state that the
 * program begins, for calls that find it there, without gradients: a copy, or filled and then written to.
 */
function mayBeKept(segment: Segment, slot: number, needed: ReadonlySet<number>): boolean {
  const node = segment.produced.get(slot);
  if (node === undefined) return false;
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
