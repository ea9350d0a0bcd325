/**
 * @file Control over tracing from inside a program.
 */
import { activeMode, withPreDispatchMode } from '@tessera/tensor/internal';
import { Cursor } from './cursor/cursor.js';

/** Whether a compiled function is running (recorded or replayed). */
export function isCompiling(): boolean {
  return activeMode() !== null;
}

/** Ends the current graph here: everything recorded so far is computed. Does nothing outside compiled code. */
export function graphBreak(): void {
  const mode = activeMode();
  if (mode instanceof Cursor) mode.breakGraph({ code: 'GB0003', text: 'graphBreak() was called' });
}

/**
 * A function that is never traced: called from compiled code it runs eagerly, and what it is given is
 * computed first.
 */
export function disable<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R {
  return (...args) => {
    const mode = activeMode(args);
    if (mode instanceof Cursor) {
      mode.frame.noteReads(args);
      mode.breakGraph({ code: 'GB0004', text: `${fn.name || 'a function'} is disabled` });
    }
    return withPreDispatchMode(null, () => fn(...args));
  };
}
