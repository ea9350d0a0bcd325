/**
 * @file Which properties of an object a walk follows: what it owns, and what getters compute.
 */
import type { Key } from '@tessera/graph';

/** Whether a value is no object: it is compared itself instead of being followed. */
export function isPrimitive(value: unknown): boolean {
  return (typeof value !== 'object' || value === null) && typeof value !== 'function';
}

/** Own keys: enumerable names as `Object.keys` gives them, then symbols and, with `hidden`, other names that hold values. */
export function ownKeys(object: object, hidden: boolean): Key[] {
  const names: Key[] = Object.keys(object);
  const all = Reflect.ownKeys(object);
  if (all.length === names.length) return names;
  for (const key of all) {
    const { enumerable, get } = Object.getOwnPropertyDescriptor(object, key)!;
    const isName = typeof key === 'string';
    if (isName && (enumerable === true || !hidden)) continue;
    if (get === undefined && (hidden || enumerable === true)) names.push(key);
  }
  return names;
}

/** Whether a key is of a getter that the object itself has. */
export function isOwnGetter(object: object, key: Key): boolean {
  return Object.getOwnPropertyDescriptor(object, key)?.get !== undefined;
}

/** Keys of the getters of an object and of its classes, other than `followed` ones. */
export function getterKeys(
  object: object,
  prototypes: readonly object[],
  followed: readonly Key[],
): Key[] {
  const known = new Set<Key>(followed);
  const found: Key[] = [];
  for (const at of [object, ...prototypes]) {
    for (const key of Reflect.ownKeys(at)) {
      if (known.has(key)) continue;
      known.add(key);
      if (isOwnGetter(at, key)) found.push(key);
    }
  }
  return found;
}

/** Whether a name is one that a tracer looks at in tracked objects. */
export function isPublic(key: Key): boolean {
  return typeof key === 'symbol' || !key.startsWith('_');
}

/** Whether a key is an array index, which comes before names. */
export function isIndex(key: Key): boolean {
  return typeof key === 'string' && /^(?:0|[1-9]\d*)$/.test(key);
}
