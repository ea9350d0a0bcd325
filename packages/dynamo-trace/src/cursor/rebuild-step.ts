/**
 * @file Recording matched steps once more: where a replay diverges, and at sizes that were not met before.
 */
import { rebuildOperator } from '../events/operator.js';
import { rebuildRegion } from '../events/region.js';
import { asRecorded } from '../trace/as-recorded.js';
import type { OutSpec, Step } from '../trace/step.js';
import type { Recorder } from './recorder.js';

/** What a step makes at the present sizes. */
export interface Rebuilt {
  readonly outs: readonly (OutSpec | null)[];
  /** Slots of existing values that take gradients from it on; of an operator. */
  readonly gaining?: readonly number[];
}

/** Records a matched step again, in the slots that it has. Follows grad mode, which the caller restores. */
export function rebuildStep(recorder: Recorder, step: Step, inner = false): Rebuilt {
  if (step.kind === 'op') return rebuildOperator(recorder, step, inner);
  if (step.kind === 'region') rebuildRegion(recorder, step);
  return { outs: [] };
}

/** Records an entry of a path again: a step, or those of a region that was jumped over. */
export function rebuildEntry(recorder: Recorder, entry: Step | readonly Step[]): void {
  if (!isRegion(entry)) rebuildStep(recorder, entry);
  else for (const step of entry) rebuildStep(recorder, step, true);
}

function isRegion(entry: Step | readonly Step[]): entry is readonly Step[] {
  return Array.isArray(entry);
}

/** Records a path again, in the grad modes in which it ran. */
export function rebuildPath(recorder: Recorder, path: readonly (Step | readonly Step[])[]): void {
  asRecorded(recorder.startGradMode, () => {
    for (const entry of path) rebuildEntry(recorder, entry);
  });
}
