/**
 * @file Fitting integers of a program through the calls that were captured.
 *
 * A wrong guess costs a capture, never a result: replays compare the argument with the expression.
 */
import { type Size, SizeFitter } from '@tessera/shared';
import type { SymbolEntry } from './symbol-table.js';

/** Values by number of the capture. */
export type Observations = ReadonlyMap<number, number>;

/** A plain expression through all observations; null if none is found: what may be anything is a symbol of its own. */
export function fitExpression(target: Observations, symbols: readonly SymbolEntry[]): Size | null {
  const calls = [...target.keys()];
  const usable = symbols.filter((entry) => calls.every((call) => entry.values.has(call)));
  if (calls.length < 2 || usable.length === 0) return null;
  const terms = usable.map((entry) => ({
    size: entry.symbol,
    at: calls.map((call) => entry.values.get(call)!),
  }));
  const found = new SizeFitter(terms).near(calls.map((call) => target.get(call)!));
  return typeof found === 'number' ? null : found;
}
