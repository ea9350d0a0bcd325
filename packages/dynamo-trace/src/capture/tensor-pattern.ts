/**
 * @file The pattern of a tensor argument: which value of the trace it is, and what it must look like.
 *
 * A tensor is guarded where the trace meets it for the first time, and again at its first use in each later
 * segment: what ran at the graph break may have changed its layout or whether it takes gradients.
 */
import type { Tensor } from '@tessera/tensor';
import type { Older } from '../dynamic/dynamic-shapes.js';
import { symbolicShapeOf } from '../dynamic/symbolic-meta.js';
import type { DynamicTensorGuard } from '../guards/dynamic-tensor-guard.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import type { ExternalPattern, Pattern, SlotPattern } from '../trace/pattern.js';
import type { Capture } from './capture.js';
import { identifierOf } from './sources.js';

/** The pattern of `tensor`; makes it an input of the segment if it is none yet. */
export function tensorPattern(
  capture: Capture,
  tensor: Tensor,
  adopted: Pattern | null,
  older: Older<Pattern> | null,
): SlotPattern | ExternalPattern {
  const { run } = capture;
  if (adopted?.code === 0 || adopted?.code === 1) {
    // Another call on the same tensor may have numbered it as its own since it was matched.
    tensor.traceOwner = run.id;
    tensor.traceSlot = adopted.slot;
  }
  const isKnown = tensor.traceOwner === run.id;
  if (!isKnown) {
    // Reading the storage computes a value that another compiled call owes.
    void tensor.storage;
    tensor.traceOwner = run.id;
    tensor.traceSlot = capture.numbering.slots++;
    run.slots[tensor.traceSlot] = tensor;
  }
  const slot = tensor.traceSlot;
  const isInput = !capture.builder.has(slot);
  if (isInput) addInput(capture, slot, tensor);
  capture.region?.uses.add(slot);
  if (adopted?.code === 0 || adopted?.code === 1) {
    if (adopted.guard !== null) noteGuard(capture, adopted.code, slot, adopted.guard);
    return adopted;
  }
  if (isKnown && !isInput) return { code: 0, slot, guard: null };
  const code = isKnown ? 0 : 1;
  const guard = guardOf(capture, tensor, older);
  noteGuard(capture, code, slot, guard);
  return { code, slot, guard };
}

function noteGuard(
  capture: Capture,
  code: 0 | 1,
  slot: number,
  guard: TensorGuard | DynamicTensorGuard,
): void {
  (code === 0 ? capture.layouts : capture.guards).set(slot, guard);
  const node = capture.builder.node(slot);
  if (node.op === 'placeholder') node.meta.symbolicVal = symbolicShapeOf(guard);
}

function addInput(capture: Capture, slot: number, tensor: Tensor): void {
  const source = capture.options.sources.nameOf(tensor);
  capture.builder.addInput(slot, tensor, identifierOf(source), source);
}

function guardOf(
  { options: { sources }, shapes }: Capture,
  tensor: Tensor,
  older: Older<Pattern> | null,
): TensorGuard | DynamicTensorGuard {
  const pattern = older?.pattern;
  const like = pattern?.code === 0 || pattern?.code === 1 ? pattern.guard : null;
  return shapes.tensorGuard(
    tensor,
    like === null ? null : { pattern: like, calls: older!.calls },
    sources.nameOf(tensor),
    sources.isArgument(tensor),
  );
}
