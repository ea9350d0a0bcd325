/** @file Exhaustiveness check for `switch` statements over closed unions. */
import { TesseraError } from './errors.js';

/**
 * Marks a branch that the types say cannot be reached.
 *
 * @throws invalid-argument when a value outside the union arrives at run time.
 */
export function assertNever(value: never, what = 'value'): never {
  throw new TesseraError('invalid-argument', `Unexpected ${what}: ${String(value)}`, {
    context: { value },
  });
}
