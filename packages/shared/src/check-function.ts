/**
 * @file The check of an argument that must be a function.
 */
import { TesseraError } from './errors.js';

/** The class of an object that is called with `call(…)`, as modules are; else null. */
function classOfModule(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('forward' in value && 'call' in value))
    return null;
  return value.constructor.name;
}

/** @throws invalid-argument unless it is a function; `what` is the name of the one that takes it */
export function checkFunction(what: string, fn: unknown): void {
  if (typeof fn === 'function') return;
  const module = classOfModule(fn);
  if (module !== null)
    throw new TesseraError(
      'invalid-argument',
      `${what}() takes a function, not a module (${module}).`,
      { hints: ['Modules are called with call(): pass a function (…) => model.call(…).'] },
    );
  throw new TesseraError('invalid-argument', `${what}() takes a function, not ${String(fn)}.`, {
    hints: [`Wrap what is to run: ${what}(() => …).`],
  });
}
