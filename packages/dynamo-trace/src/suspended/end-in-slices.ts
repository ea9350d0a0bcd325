/**
 * @file The end of a recorded call where what it needs is compiled so that it blocks no page.
 */
import { inScope, inSlices } from '@tessera/shared';
import type { Cursor } from '../cursor/cursor.js';
import { preparing } from '../events/return.js';
import { endCall, holdCall } from './suspended-calls.js';

/** Runs something under settings. */
export type Scope = <R>(fn: () => R) => R;

/** Compiles in slices what the end of a recorded call needs, each in a scope, then ends it. */
export async function endInSlices(
  cursor: Cursor,
  result: unknown,
  scope: Scope,
  end: () => unknown,
): Promise<unknown> {
  holdCall(cursor);
  try {
    await inSlices(inScope(scope, preparing(cursor, result)));
  } catch (error) {
    cursor.frame.end();
    throw error;
  } finally {
    endCall(cursor);
  }
  return scope(end);
}
