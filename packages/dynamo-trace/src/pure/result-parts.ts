/**
 * @file What the parts of a remembered result are, so that another call gives its own.
 *
 * A part is a primitive or a tensor. JavaScript that is skipped makes nothing else: a function, a Set or an object of
 * a class would be that of the remembered call, with its tensors.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { Place } from '../guards/guard.js';
import { typeName } from '../guards/guard-words.js';
import type { Sources } from '../guards/sources.js';

/** A value of the trace, a tensor that an argument or capture holds, or what is the same in all calls. */
export type ResultPart =
  { readonly slot: number } | { readonly place: Place } | { readonly value: unknown };

/**
 * A part of a result.
 *
 * @param slotOf the slot of a tensor that each call has; else -1
 */
export function resultPart(
  leaf: unknown,
  sources: Sources,
  slotOf: (tensor: Tensor) => number,
): ResultPart {
  if (!isTensor(leaf)) return { value: leaf };
  const slot = slotOf(leaf);
  if (slot >= 0) return { slot };
  const place = sources.locate(leaf);
  return place === null ? { value: leaf } : { place };
}

/** @throws pure-side-effect for what is neither a tensor nor a primitive */
export function refuseObjects(leaves: readonly unknown[]): void {
  for (const leaf of leaves)
    if (Object(leaf) === leaf && !isTensor(leaf))
      throw new TesseraError(
        'pure-side-effect',
        `The result holds what only the function itself can make: ${typeName(leaf)}.`,
        { hints: ['Return tensors, numbers, strings, and arrays, records or Maps of them.'] },
      );
}
