/**
 * @file Event: the graph ends here, because a value is needed or no graph can hold what comes.
 *
 * Matched, the segment runs as compiled code. Recorded, it runs operator by operator: which of its values later code
 * needs is known, and compiled for, when the call is over.
 */
import type { BreakReason } from '../breaks/graph-breaks.js';
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import type { Segment } from '../trace/segment.js';
import type { TrieNode } from '../trace/step.js';
import { type EventKind, MISS } from './event.js';

/** A graph break. */
interface BreakCall {
  readonly reason: BreakReason;
  /** Whether it is told even where no operator is recorded. */
  readonly isTold: boolean;
}

/** See the file header. */
export const BREAK: EventKind<BreakCall, void> = {
  match(cursor) {
    for (const step of cursor.at.steps) {
      if (step.kind !== 'break' || step.gradMode !== cursor.frame.gradMode) continue;
      if (!fitsCall(cursor, step.segment)) continue;
      cursor.advance(step, step.next);
      runCompiled(cursor, step.segment);
      cursor.beginSegment(step.next);
      return;
    }
    return MISS;
  },

  record(cursor, recorder, { reason, isTold }) {
    const { builder, region } = recorder;
    const { frame, host } = cursor;
    // What was only looked at may change its layout.
    const isShown =
      isTold || builder.opCount > 0 || (reason.code === 'GB0008' && builder.inputSlots.length > 0);
    if (isShown) host.onBreak(reason, true);
    if (region !== null) region.broken = true;
    const segment = finishSegment(cursor, recorder);
    frame.runByOperator(segment);
    noteCounts(recorder);
    const { gradMode } = frame;
    const next = host.entryAfter(reason, gradMode);
    cursor.append({ kind: 'break', segment, reason, gradMode, next });
    cursor.beginSegment(next);
  },

  run() {},

  describe: ({ reason }) => ({ text: `${reason.text} where the recorded call did not` }),
};

/** Sizes that may follow symbols are symbols behind the break, too. */
function noteCounts({ varying, frame: { slots, symbols, counts } }: Recorder): void {
  for (const slot of varying) {
    const tensor = slots[slot]!;
    counts.set(
      tensor,
      tensor.sizes.flatMap((size, dim) => (symbols.includes(size) ? [dim] : [])),
    );
  }
}

/** What was recorded since the last break. */
export function finishSegment(cursor: Cursor, recorder: Recorder): Segment {
  const { specializer, frame, recorded, guarded } = cursor;
  const segment = recorder.finishSegment();
  segment.cases = specializer.cases;
  segment.point = specializer.point;
  frame.segment = segment;
  cursor.mustSeal = true;
  if (!recorded.includes(frame)) recorded.push(frame);
  for (const [tensor, guard] of recorder.externals)
    if (!guarded.has(tensor)) guarded.set(tensor, guard);
  return segment;
}

/** Whether a matched segment is for this call, which may need more of it than calls before. */
export function fitsCall({ frame }: Cursor, segment: Segment): boolean {
  if (!segment.fits(frame)) return false;
  if (frame.reads.size > 0) segment.addOutputs(frame.reads);
  if (frame.watched.size > 0) segment.addOutputs(segment.basesOf(frame.watched));
  return !segment.isSplit;
}

/**
 * Runs a matched segment, for the sizes of this call: operator by operator as long as the call that recorded it has not
 * ended (it may be this one), since it is not known what must be returned.
 */
export function runCompiled(cursor: Cursor, template: Segment): void {
  const { frame, specializer } = cursor;
  const isOwn = frame.shapes.parent === null;
  frame.segment = template;
  frame.isCompiled = template.sealed;
  cursor.mustSeal ||= !template.sealed;
  if (!template.sealed) frame.runByOperator(isOwn ? template : specializer.rebuilt());
  else if (isOwn) frame.runSegment(template);
  else specializer.run(template);
}

/** Whether a recorded call broke the graph at a node for that reason. */
export function endsWith(at: TrieNode, { code }: BreakReason): boolean {
  return at.steps.some((step) => step.kind === 'break' && step.reason.code === code);
}
