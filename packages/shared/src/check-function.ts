/**
 * @file The check of an argument that must be a function.
 */
import { TesseraError } from './errors.js';

/** @throws invalid-argument unless it is a function; `what` is the name of the one that takes it */
export function checkFunction(what: string, fn: unknown): void {
  if (typeof fn === 'function') return;
  // Modules are objects that are called with `call(…)`.
  const isModule = (fn as { forward?: unknown } | null | undefined)?.forward !== undefined;
  const got = isModule ? `a module (${fn!.constructor.name})` : String(fn);
  throw new TesseraError('invalid-argument', `${what}() takes a function, not ${got}.`, {
    hints: [
      isModule
        ? 'Modules are called with call(): pass a function (…) => model.call(…).'
        : `Wrap what is to run: ${what}(() => …).`,
    ],
  });
}
