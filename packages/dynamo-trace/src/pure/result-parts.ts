/**
 * @file What the parts of a remembered result are, so that another call gives its own.
 *
 * A part is a primitive, a tensor, or what an argument or capture holds. JavaScript that is skipped makes nothing
 * else: a function, a Set or an object of a class would be that of the remembered call, with its tensors.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { Root } from '../guards/entry-guards.js';
import type { Place } from '../guards/guard.js';
import { typeName } from '../guards/guard-words.js';
import type { Sources } from '../guards/sources.js';
import { walk } from '../guards/walk.js';

/** A value of the trace, what an argument or capture holds, or what is the same in all calls. */
export type ResultPart =
  { readonly slot: number } | { readonly place: Place } | { readonly value: unknown };

/** What parts are found in. */
export interface RememberedCall {
  readonly roots: readonly Root[];
  readonly sources: Sources;
  /** The slot of a tensor that each call has; else -1. */
  slotOf(tensor: Tensor): number;
}

/** The parts of a result, in order. @throws pure-side-effect */
export function resultParts(leaves: readonly unknown[], call: RememberedCall): ResultPart[] {
  let objects: ReadonlyMap<unknown, Place> | null = null;
  return leaves.map((leaf): ResultPart => {
    if (isTensor(leaf)) {
      const slot = call.slotOf(leaf);
      if (slot >= 0) return { slot };
      const place = call.sources.locate(leaf);
      return place === null ? { value: leaf } : { place };
    }
    if (!isObject(leaf)) return { value: leaf };
    objects ??= objectsOf(call.roots);
    const place = objects.get(leaf);
    if (place === undefined) refuseObject(leaf);
    return { place };
  });
}

/** @throws pure-side-effect for what is neither a tensor nor a primitive */
export function refuseObjects(leaves: readonly unknown[]): void {
  for (const leaf of leaves) if (isObject(leaf) && !isTensor(leaf)) refuseObject(leaf);
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** The objects that the roots hold, with where they are. */
function objectsOf(roots: readonly Root[]): Map<unknown, Place> {
  const places = new Map<unknown, Place>();
  roots.forEach(({ name, value: of }, root) => {
    const add = (value: unknown, source: Place['source']): void => {
      if (!places.has(value)) places.set(value, { root, source });
    };
    walk(
      of,
      { root: name, steps: [] },
      { container: ({ value, source }) => add(value, source), opaque: add },
      true,
    );
  });
  return places;
}

function refuseObject(value: object): never {
  throw new TesseraError(
    'pure-side-effect',
    `The result holds a value that only the function itself can make: ${typeName(value)}.`,
    {
      hints: [
        'Return tensors, numbers, strings, and arrays, records or Maps of them.',
        'Or make the rest of it outside.',
      ],
    },
  );
}
