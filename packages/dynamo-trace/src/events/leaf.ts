/**
 * @file `requiresGrad_()` of a value that the graph makes: an operator whose result takes the place of the tensor.
 */
import type { Tensor } from '@tessera/tensor';
import { modes, programLeaf, requiresGrad } from '@tessera/tensor/internal';
import type { Cursor } from '../cursor/cursor.js';
import type { OpStep } from '../trace/step.js';

/** Whether it is what was recorded, or can be: of a value without history, of which nothing is a view. */
export function startsLeaf(cursor: Cursor, tensor: Tensor): boolean {
  const { at, frame, recorder, passing, inRegion } = cursor;
  if (passing || inRegion || !tensor.isLazy || modes.suspended !== null) return false;
  const slot = frame.slotOf(tensor);
  if (slot < 0) return false;
  const known = at.steps.filter(
    (step): step is OpStep => step.kind === 'op' && step.op === programLeaf,
  );
  if (known.some(({ isWatched }) => isWatched)) return false;
  if (recorder === null) return known.length > 0;
  const { builder, region } = recorder;
  if (region !== null || !builder.has(slot) || builder.isViewed(slot)) return false;
  return !requiresGrad(builder.fake(slot));
}

/** The tensor that the program holds is the leaf from now on; `made` is what it was before. */
export function becomeLeaf({ frame }: Cursor, tensor: Tensor, made: Tensor): void {
  const [slot, before] = [frame.slotOf(made), frame.slotOf(tensor)];
  frame.bind(slot, tensor);
  frame.bind(before, made);
  frame.leaves.add(tensor);
  tensor.requiresGradFlag = true;
  made.requiresGradFlag = false;
  tensor.guardSpec = null;
}
