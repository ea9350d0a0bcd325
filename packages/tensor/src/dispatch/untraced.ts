/**
 * @file `untraced`: code that watches the engine at work, which compiled code cannot show it.
 */
import { activeMode, withPreDispatchMode } from './modes.js';

/** Runs `fn`, untraced where a graph is being captured: what is recorded is computed first. */
export function untraced<R>(why: string, fn: () => R): R {
  const mode = activeMode();
  if (mode?.onUntraced === undefined) return fn();
  mode.onUntraced(why);
  return withPreDispatchMode(null, fn);
}
