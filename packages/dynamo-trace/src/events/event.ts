/**
 * @file `EventKind`: what the tracer does with one kind of event.
 *
 * A program under the tracer raises events: operators, `backward()`, trusted regions, graph
 * breaks, its end. Each kind is one file here, which says how an event is matched against recorded steps, recorded
 * as a new one, run where tracing has stopped, and put into words. A matched step that must be recorded once more
 * (a replay that diverges, new sizes) is rebuilt by the `rebuild…` function beside it.
 */
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import type { TrieNode } from '../trace/step.js';

/** How an event differs from what was recorded. */
export interface Difference {
  readonly text: string;
  /** Values of the event that fit no step: guards of where they come from say it in the program's own names. */
  readonly about?: readonly unknown[];
  /** What the recorded call had in place of a constant. */
  readonly was?: unknown;
  /** Whether the text says what is wrong with these, and not only what the program did. */
  readonly isExact?: boolean;
}

/** No recorded step fits. */
export const MISS: unique symbol = Symbol('miss');

/** See the file header. `C` is what is known of the event, `R` what the program gets. */
export interface EventKind<C, R> {
  /** Moves the cursor behind a recorded step that fits; otherwise changes nothing. */
  match(cursor: Cursor, call: C): R | typeof MISS;
  /** Records the event as a step, and moves behind it. */
  record(cursor: Cursor, recorder: Recorder, call: C): R;
  /** Nothing is traced any more. */
  run(call: C): R;
  /** Why nothing at a node fits. */
  describe(call: C, at: TrieNode): Difference;
}
