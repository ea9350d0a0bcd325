/**
 * @file The check of an argument that must be a function.
 */
import { TesseraError } from './errors.js';

/** @throws invalid-argument unless it is a function; `what` is the name of the one that takes it */
export function checkFunction(what: string, fn: unknown): void {
  if (typeof fn === 'function') return;
  throw new TesseraError('invalid-argument', `${what}() takes a function, not ${String(fn)}.`, {
    hints: [`Wrap what is to run: ${what}(() => …).`],
  });
}
