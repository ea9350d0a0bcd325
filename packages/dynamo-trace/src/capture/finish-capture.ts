/**
 * @file The end of a capture: which values the segments must return, and the return step.
 */
import type { Tensor } from '@tessera/tensor';
import { walk } from '../guards/walk.js';
import type { Segment } from '../trace/segment.js';
import type { Capture } from './capture.js';
import { runSegmentEagerly } from '../trace/eager-segment.js';

/** Slots that outlive the call or are read by a later segment. */
function neededSlots(capture: Capture, result: unknown, segments: readonly Segment[]): Set<number> {
  const { run } = capture;
  const needed = new Set<number>(run.reads);
  const note = (tensor: Tensor | null | undefined): void => {
    if (tensor != null && tensor.traceOwner === run.id) needed.add(tensor.traceSlot);
  };
  const reachable = (value: unknown): void =>
    walk(value, { root: '', steps: [] }, { tensor: note });
  reachable(result);
  for (const root of capture.options.sources.roots) reachable(root.value);
  for (const owner of capture.owners) reachable(owner);
  for (const segment of segments) {
    for (const input of segment.inputs) {
      if (input.slot < 0) continue;
      needed.add(input.slot);
      note(run.slots[input.slot]?.autograd?.grad);
    }
  }
  // Dead ends: computed, used by nothing; somebody may have kept them.
  for (const slot of capture.visible) {
    const node = segments.find((segment) => segment.produced.has(slot))?.produced.get(slot);
    if (node !== undefined && node.users.size === 0) needed.add(slot);
  }
  return needed;
}

/** Ends a capture: decides the outputs of all segments of the path, compiles and runs the last one. */
export function finishCapture(capture: Capture, result: unknown): Segment {
  const last = capture.finishSegment();
  capture.run.noteFinished(last);
  const segments = capture.run.finished;
  const needed = neededSlots(capture, result, segments);
  for (const segment of segments) {
    segment.addOutputs(needed);
    segment.sealed = true;
  }
  capture.push({ kind: 'return', segment: last });
  if (capture.options.recordOnly) return last;
  capture.run.runSegment(last);
  // Those before a break ran op by op; the next call finds them compiled.
  for (const segment of capture.segments) segment.prepare(capture.run);
  return last;
}

/**
 * After an exception of the program: what it had asked for so far happens, as in eager. The segments that
 * ran before it are complete, so that the next call finds them.
 */
export function abortCapture(capture: Capture, error: unknown = undefined): void {
  const last = capture.finishSegment();
  if (capture.builder.opCount > 0) runSegmentEagerly(last, capture.run);
  const before = capture.run.finished;
  const needed = neededSlots(capture, error, [...before, last]);
  for (const segment of before) {
    segment.addOutputs(needed);
    segment.sealed = true;
  }
}

/** Takes back gradients that a probed `backward()` gave to tensors from outside: they have no values. */
export function dropGradients(capture: Capture): void {
  for (const [tensor] of capture.externals) {
    const { autograd } = tensor;
    if (autograd?.grad?.traceOwner === capture.run.id) autograd.grad = null;
  }
}
