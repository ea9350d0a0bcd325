/**
 * @file Event: somebody watches the gradient of a value, by a hook, `retainGrad()`, `grad()` or `backward({ inputs })`.
 *
 * Compiled code has one backward node for all results of a segment, so gradients that flow from one of them to
 * another are out of sight. The graph therefore ends behind whatever makes a watched value: its step is marked, and
 * the next call records a graph break there (ADR 20). The present call runs operator by operator what it has not run
 * yet; where the value is inside code that has run compiled, the watch comes too late and is an error.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { WATCHED } from '../breaks/graph-breaks.js';
import type { Cursor } from '../cursor/cursor.js';
import type { PastFrame } from '../frame/earlier-frames.js';
import type { Frame } from '../frame/frame.js';
import { slotsOf } from '../trace/pattern.js';
import type { OpStep, RegionStep, Step } from '../trace/step.js';

/** Notes that gradients of these are watched. @throws trace-late-watch */
export function watch(cursor: Cursor, tensors: readonly Tensor[]): void {
  const { earlier } = cursor;
  for (const tensor of tensors) {
    const isFound = [cursor.frame, ...earlier.kept.toReversed()].some((frame) => {
      const slot = frame.find(tensor);
      if (slot < 0) return false;
      frame.watched.add(slot);
      return watchIn(cursor, frame, slot);
    });
    const past = isFound ? null : earlier.find(tensor);
    if (past === null) continue;
    const { frame, slot } = past;
    frame.segment.addOutputs(frame.segment.basesOf([slot]));
    watchIn(cursor, frame, slot);
  }
}

/** Marks the step of a frame that made what is in a slot; false if that was there before the segment. */
function watchIn(cursor: Cursor, frame: Frame | PastFrame, slot: number): boolean {
  const made = makerOf(frame, slot);
  if (made === 'before') return false;
  if (made !== null) markWatched(cursor, frame, made);
  return true;
}

/** A segment ends behind a step from the next call on; a region around it is not jumped over. @throws trace-late-watch */
function markWatched(cursor: Cursor, frame: Frame | PastFrame, step: OpStep): void {
  step.isWatched = true;
  for (const entry of frame.path)
    if (Array.isArray(entry) && entry.includes(step)) (entry[0] as RegionStep).jump = null;
  if (frame.isCompiled) throw lateWatch(step);
  if (cursor.matching && frame === cursor.frame)
    cursor.diverge(() => ({ text: WATCHED.text, isExact: true }));
  cursor.isOutdated ||= !cursor.passing;
}

/** The step that made a value, or changed it last, if a later one reads it; `before` if no step of the segment did. */
function makerOf({ path }: PastFrame | Frame, slot: number): OpStep | 'before' | null {
  let isRead = false;
  for (const entry of path.toReversed()) {
    const steps: readonly Step[] = Array.isArray(entry) ? entry : [entry];
    const maker = steps.find((step): step is OpStep => makes(step, slot));
    // What a region makes and reads itself is not seen outside; between a `backward()` and what differentiates its gradients no graph ends.
    if (maker !== undefined) return isRead && maker.gives === null ? maker : null;
    isRead ||= steps.some((step) => readsSlot(step, slot));
  }
  return 'before';
}

function makes(step: Step, slot: number): boolean {
  if (step.kind !== 'op') return false;
  return (
    step.written.includes(slot) ||
    // What gives an existing value its history (a custom autograd function) returns it too.
    step.outs.some((out) => out?.slot === slot && (!out.same || step.op.isMutable))
  );
}

function readsSlot(step: Step, slot: number): boolean {
  if (step.kind !== 'op') return false;
  return step.gives !== null || step.args.some((pattern) => slotsOf(pattern).includes(slot));
}

function lateWatch({ op, location }: OpStep): TesseraError {
  return new TesseraError(
    'trace-late-watch',
    `The gradient of the result of ${op.qualifiedName} is watched (a hook, retainGrad() or grad()) after compiled code that made and used it has run.`,
    {
      location: location ?? undefined,
      hints: [
        'Call the function again: from now on its graph ends behind that value.',
        'Set hooks before a graph break, and ask for gradients of intermediate values in every call or in none.',
      ],
    },
  );
}
