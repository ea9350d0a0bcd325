/**
 * @file What the parts of a remembered result are, so that another call gives its own.
 *
 * A part is a primitive or a tensor. JavaScript that is skipped makes nothing else: a function, a Set or an object of
 * a class would be that of the remembered call, with its tensors.
 */
import { isTensor } from '@tessera/tensor';
import type { Place } from '../guards/guard.js';
import { typeName } from '../guards/guard-words.js';
import { sideEffect } from './side-effect.js';

/** A value of the trace, a tensor that an argument or capture holds, or what is the same in all calls. */
export type ResultPart =
  { readonly slot: number } | { readonly place: Place } | { readonly value: unknown };

/** @throws pure-side-effect for what is neither a tensor nor a primitive */
export function refuseObjects(leaves: readonly unknown[]): void {
  for (const leaf of leaves)
    if (Object(leaf) === leaf && !isTensor(leaf))
      throw sideEffect(`The result holds what only the function can make: ${typeName(leaf)}.`, [
        'Return tensors, numbers, strings, and arrays, records or Maps of them.',
      ]);
}
