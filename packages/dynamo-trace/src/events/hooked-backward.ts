/**
 * @file Backward passes that call hooks of modules: the graph ends behind them.
 *
 * A trace holds such a call as an operator, which runs when the graph does. What it does (count, print, look at
 * variables) has its place in the program, before what comes after `backward()`.
 */
import { tracedHostCalls } from '@tessera/tensor/internal';
import { HOOK_CALLED } from '../breaks/graph-breaks.js';
import type { Cursor } from '../cursor/cursor.js';
import { endsWith } from './break.js';

/** Lets `pass` record or match a backward pass, and ends the graph if that calls hooks. */
export function endAfterHooks<R>(cursor: Cursor, pass: () => R): R {
  const calls = tracedHostCalls();
  const result = pass();
  if (tracedHostCalls() > calls || endsWith(cursor.at, HOOK_CALLED)) cursor.breakGraph(HOOK_CALLED);
  return result;
}
