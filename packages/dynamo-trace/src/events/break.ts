/**
 * @file Event: the graph ends here, because a value is needed or no graph can hold what comes.
 *
 * Matched, the segment runs as compiled code. Recorded, it runs operator by operator: which of its values later code
 * needs is known, and compiled for, when the call is over.
 */
import type { BreakReason } from '../breaks/graph-breaks.js';
import { reportBreak } from '../breaks/report-break.js';
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
      // Of a call that is suspended or failed, it is not known what must be returned.
      if (step.kind !== 'break' || !step.segment.sealed || !fitsCall(cursor, step.segment))
        continue;
      cursor.advance(step, step.next);
      runCompiled(cursor, step.segment);
      cursor.compiledUpTo = cursor.path.length;
      cursor.beginSegment();
      return;
    }
    return MISS;
  },

  record(cursor, recorder, { reason, isTold }) {
    const { builder, region, alignment } = recorder;
    // What was only looked at may change its layout.
    const isShown =
      isTold || builder.opCount > 0 || (reason.code === 'GB0008' && builder.inputSlots.length > 0);
    if (isShown) reportBreak(reason, recorder);
    if (region !== null) region.broken = true;
    const segment = finishSegment(cursor, recorder);
    cursor.frame.finished.push(segment);
    recorder.segments.push(segment);
    cursor.frame.runByOperator(segment);
    alignment.pass('break');
    cursor.append({ kind: 'break', segment, reason, next: { steps: [] } });
    cursor.beginSegment();
  },

  run() {},

  describe: ({ reason }) => ({ text: `${reason.text} where the recorded call did not` }),
};

/** What was recorded since the last break. */
export function finishSegment({ specializer }: Cursor, recorder: Recorder): Segment {
  const segment = recorder.finishSegment();
  segment.cases = specializer.cases;
  segment.point = specializer.point;
  return segment;
}

/** Whether a matched segment is for this call, which may need more of it than calls before. */
export function fitsCall({ frame }: Cursor, segment: Segment): boolean {
  if (!segment.fits(frame)) return false;
  if (frame.reads.size > 0) segment.addOutputs(frame.reads);
  if (frame.watched.size > 0) segment.addOutputs(segment.basesOf(frame.watched));
  return !segment.isSplit;
}

/** Runs the compiled code of a matched segment, for the sizes of this call. */
export function runCompiled(cursor: Cursor, template: Segment): void {
  const { frame, specializer } = cursor;
  frame.finished.push(template);
  if (frame.shapes.parent === null) frame.runSegment(template);
  else specializer.run(template);
}

/** Whether a recorded call broke the graph at a node for that reason. */
export function endsWith(at: TrieNode, { code }: BreakReason): boolean {
  return at.steps.some((step) => step.kind === 'break' && step.reason.code === code);
}
