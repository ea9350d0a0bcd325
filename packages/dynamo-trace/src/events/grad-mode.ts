/**
 * @file Event: grad mode was switched.
 */
import { type HostFunction, registerHostFunction } from '@tessera/graph';
import { setGradEnabled } from '@tessera/tensor';
import { gradMode } from '@tessera/tensor/internal';
import type { Recorder } from '../cursor/recorder.js';
import type { GradModeStep } from '../trace/step.js';
import { type EventKind, MISS } from './event.js';

/** Host function that graphs call where the program switched grad mode. */
export const gradModeNode: HostFunction = setGradEnabled;

registerHostFunction('setGradEnabled', gradModeNode, { pure: false });

/** See the file header. The mode itself is switched by the program, on every call. */
export const GRAD_MODE: EventKind<boolean, void> = {
  match(cursor, enabled) {
    for (const step of cursor.at.steps) {
      if (step.kind !== 'grad-mode' || step.enabled !== enabled) continue;
      cursor.advance(step, step.next);
      cursor.specializer.follow(step);
      return;
    }
    return MISS;
  },

  record(cursor, recorder, enabled) {
    recorder.alignment.pass('grad-mode');
    recorder.builder.graph.callFunction(gradModeNode, [enabled]);
    cursor.append({ kind: 'grad-mode', enabled, next: { steps: [] } });
  },

  run() {},

  describe: (enabled) => ({
    text: `grad mode was switched ${enabled ? 'on' : 'off'} where the recorded call did not`,
  }),
};

/** Records a matched switch again; follows it, so the caller restores the mode. */
export function rebuildGradMode({ builder }: Recorder, { enabled }: GradModeStep): void {
  builder.graph.callFunction(gradModeNode, [enabled]);
  gradMode.enabled = enabled;
}
