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
import { slotsOf } from '../trace/pattern.js';
import type { OpStep, RegionStep, Step } from '../trace/step.js';

/** Notes that gradients of these are watched. @throws trace-late-watch */
export function watch(cursor: Cursor, tensors: readonly Tensor[]): void {
  for (const tensor of tensors) {
    const slot = cursor.frame.slotOf(tensor);
    if (slot >= 0) cursor.frame.watched.add(slot);
    const made = slot < 0 ? null : makerOf(cursor, slot);
    if (made === null) continue;
    const { step, index } = made;
    step.isWatched = true;
    if (index < cursor.compiledUpTo) throw lateWatch(step);
    if (cursor.matching) cursor.diverge(() => ({ text: WATCHED.text, isExact: true }));
    if (cursor.recorder !== null) cursor.recorder.isOutdated = true;
  }
}

/** The step that made a value, or changed it last, if a later one of the same segment reads it. */
function makerOf(
  { path }: Cursor,
  slot: number,
): { readonly step: OpStep | RegionStep; readonly index: number } | null {
  let isRead = false;
  for (let index = path.length - 1; index >= 0; index--) {
    const entry = path[index]!;
    const steps: readonly Step[] = Array.isArray(entry) ? entry : [entry];
    if (steps[0]!.kind === 'break') isRead = false;
    const maker = steps.find((step) => makes(step, slot));
    if (maker !== undefined) {
      // What a region makes and reads itself is not seen outside.
      const marked = steps[0]!.kind === 'region' ? steps[0] : maker;
      return isRead && (marked.kind === 'op' || marked.kind === 'region')
        ? { step: marked, index }
        : null;
    }
    isRead ||= steps.some((step) => readsSlot(step, slot));
  }
  return null;
}

function makes(step: Step, slot: number): boolean {
  if (step.kind === 'op')
    return (
      step.written.includes(slot) ||
      // What gives an existing value its history (a custom autograd function) returns it too.
      step.outs.some((out) => out?.slot === slot && (!out.same || step.op.isMutable))
    );
  return step.kind === 'backward' && step.leaves.some(({ grad }) => grad.slot === slot);
}

function readsSlot(step: Step, slot: number): boolean {
  if (step.kind === 'op') return step.args.some((pattern) => slotsOf(pattern).includes(slot));
  return step.kind === 'backward';
}

function lateWatch(step: OpStep | RegionStep): TesseraError {
  const what = step.kind === 'op' ? step.op.qualifiedName : step.name;
  const location = step.kind === 'op' ? (step.location ?? undefined) : undefined;
  return new TesseraError(
    'trace-late-watch',
    `The gradient of the result of ${what} is watched (a hook, retainGrad() or grad()) after compiled code that made and used it has run.`,
    {
      location,
      hints: [
        'Call the function again: from now on its graph ends behind that value.',
        'Set hooks before a graph break, and ask for gradients of intermediate values in every call or in none.',
      ],
    },
  );
}
