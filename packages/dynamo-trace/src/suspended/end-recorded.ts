/**
 * @file The end of a recorded call: what it needs is compiled, at once or so that it blocks no page.
 */
import { atOnce, inScope, inSlices } from '@tessera/shared';
import type { Cursor } from '../cursor/cursor.js';
import { warmUp } from '../cursor/warm-up.js';
import { preparing } from '../events/return.js';
import { endCall, holdCall } from './suspended-calls.js';

/** Runs something under settings. */
export type Scope = <R>(fn: () => R) => R;

/**
 * Ends a recorded call, and has later calls find warm code.
 *
 * @param slicing see `endInSlices`; null to compile at once
 */
export function endRecorded(
  cursor: Cursor,
  result: unknown,
  slicing: Scope | null,
  end: () => unknown,
): unknown {
  if (slicing !== null) return endInSlices(cursor, result, slicing, end);
  // First: while the call is compiled, the engine optimises what has become hot.
  atOnce(warmUp(cursor.path.length));
  return end();
}

/** Compiles in slices what the end of a recorded call needs, each in a scope, then ends it and warms up. */
async function endInSlices(
  cursor: Cursor,
  result: unknown,
  scope: Scope,
  end: () => unknown,
): Promise<unknown> {
  const call = { frame: cursor.frame, mode: cursor, open: false };
  holdCall(call);
  try {
    await inSlices(inScope(scope, preparing(cursor, result)));
  } catch (error) {
    cursor.frame.end();
    throw error;
  } finally {
    endCall(call);
  }
  const ended = scope(end);
  await inSlices(warmUp(cursor.path.length));
  return ended;
}
