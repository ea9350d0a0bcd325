/**
 * @file The pattern of a tensor argument: which value of the trace it is, and what it must look like.
 *
 * A tensor is guarded where the trace meets it for the first time, and again at its first use in each later
 * segment: what ran at the graph break may have changed its layout or whether it takes gradients.
 */
import type { Tensor } from '@tessera/tensor';
import type { Older } from '../dynamic/dynamic-shapes.js';
import { symbolicShapeOf } from '../dynamic/symbolic-meta.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import type { Pattern, TensorPattern } from '../trace/pattern.js';
import { identifierOf } from '../guards/sources.js';
import type { Recorder } from './recorder.js';

/** The pattern of `tensor`; makes it an input of the segment if it is none yet. */
export function tensorPattern(
  recorder: Recorder,
  tensor: Tensor,
  known: Pattern | null = null,
  older: Older<Pattern> | null = null,
): TensorPattern {
  const { frame } = recorder;
  const isBound = frame.slotOf(tensor) >= 0;
  if (!isBound) {
    // Reading the storage computes a value that another compiled call owes.
    void tensor.storage;
    frame.bind(recorder.numbering.slots++, tensor);
  }
  const slot = frame.slotOf(tensor);
  const isInput = !recorder.builder.has(slot);
  if (isInput) addInput(recorder, slot, tensor);
  recorder.region?.uses.add(slot);
  if (known?.code === 0 || known?.code === 1) {
    if (known.guard !== null) noteGuard(recorder, known.code, slot, known.guard);
    return known;
  }
  if (isBound && !isInput) return { code: 0, slot, guard: null, gains: false };
  const code = isBound ? 0 : 1;
  const guard = guardOf(recorder, tensor, older);
  noteGuard(recorder, code, slot, guard);
  return { code, slot, guard, gains: frame.givesGradients(tensor) };
}

function noteGuard(recorder: Recorder, code: 0 | 1, slot: number, guard: TensorGuard): void {
  (code === 0 ? recorder.layouts : recorder.guards).set(slot, guard);
  if (guard.isSymbolic) recorder.varying.add(slot);
  const node = recorder.builder.node(slot);
  if (node.op === 'placeholder') node.meta.symbolicVal = symbolicShapeOf(guard);
}

function addInput(recorder: Recorder, slot: number, tensor: Tensor): void {
  const { sources } = recorder.numbering;
  const source = sources.get(slot) ?? recorder.options.sources.nameOf(tensor);
  sources.set(slot, source);
  recorder.builder.addInput(slot, tensor, identifierOf(source), source);
}

function guardOf(
  { options: { sources }, shapes }: Recorder,
  tensor: Tensor,
  older: Older<Pattern> | null,
): TensorGuard {
  const pattern = older?.pattern;
  const like = pattern?.code === 0 || pattern?.code === 1 ? pattern.guard : null;
  return shapes.tensorGuard(
    tensor,
    like === null ? null : { pattern: like, calls: older!.calls },
    sources.nameOf(tensor),
    sources.isArgument(tensor),
  );
}
