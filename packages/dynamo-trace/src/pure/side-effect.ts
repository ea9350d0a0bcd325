/**
 * @file The errors of what a skipped call, or an exported graph, would not do.
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { typeName } from '../guards/guard-words.js';

/** `pure-side-effect` with what to do instead. */
export function sideEffect(message: string, hints: string[], location?: string): TesseraError {
  return new TesseraError('pure-side-effect', message, { location, hints });
}

/**
 * Refuses results that are neither tensors nor primitives: a function, a Set or an object of a class would be that of the
 * remembered call, with its tensors. @throws pure-side-effect
 */
export function refuseObjects(leaves: readonly unknown[]): void {
  for (const leaf of leaves)
    if (Object(leaf) === leaf && !isTensor(leaf))
      throw sideEffect(`The result holds what only the function can make: ${typeName(leaf)}.`, [
        'Return tensors, numbers, strings, and arrays, records or Maps of them.',
      ]);
}

/** The error of a skipped call that would not do what the function does now. */
export function staleError(name: string, difference: string, location?: string): TesseraError {
  return new TesseraError(
    'pure-stale',
    `${name} is compiled with pure: true, but a skipped call would not do what its code does now: ${difference}.`,
    {
      location,
      hints: [
        'Pass what changes as an argument, or name it in captures, so that it is guarded.',
        'Or compile without pure: replay then runs the JavaScript on every call.',
      ],
    },
  );
}
