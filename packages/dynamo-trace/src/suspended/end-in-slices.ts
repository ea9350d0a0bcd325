/**
 * @file The end of a recorded call whose compilation blocks no page.
 */
import { inScope, inSlices } from '@tessera/shared';
import type { Cursor } from '../cursor/cursor.js';
import { warmUp } from '../cursor/warm-up.js';
import { preparing } from '../events/return.js';
import { endCall, holdCall } from './suspended-calls.js';

/** Runs something under settings. */
export type Scope = <R>(fn: () => R) => R;

/** Compiles in slices what the end of a recorded call needs, then ends it, and has later calls find warm code. */
export async function endInSlices(
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
  await inSlices(warmUp());
  return ended;
}
