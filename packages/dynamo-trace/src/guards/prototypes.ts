/**
 * @file What an object inherits from its classes: methods, and values that were put on a prototype.
 */
import type { Key } from '@tessera/graph';
import { isTracked } from '@tessera/tensor/internal';
import { fieldsCheck } from './fields.js';
import { isOwnGetter } from './followed-keys.js';

/** What an object inherits from, nearest first. */
export function* chainOf(object: object): Generator<object, undefined> {
  let at: object | null = Object.getPrototypeOf(object);
  for (; at !== null; at = Object.getPrototypeOf(at)) yield at;
}

/** Prototypes of the program that an object inherits from; a tracked base class, which is a library's, is none. */
export function prototypesOf(object: object): object[] {
  const found: object[] = [];
  let below: object | null = null;
  for (const at of chainOf(object)) {
    if (isNative(at) || (below !== null && isTracked(below) && !isTracked(at))) break;
    found.push(at);
    below = at;
  }
  return found;
}

const native = new WeakMap<object, boolean>();

/** Whether a prototype is that of a class of the host. */
export function isNative(prototype: object): boolean {
  let known = native.get(prototype);
  if (known !== undefined) return known;
  const made: unknown = Object.hasOwn(prototype, 'constructor') ? prototype.constructor : null;
  known =
    made !== null &&
    (typeof made !== 'function' ||
      Function.prototype.toString.call(made).includes('[native code]'));
  native.set(prototype, known);
  return known;
}

/** A difference of a prototype: the property, and what it was if there was one. */
interface Difference {
  readonly key: Key;
  readonly had: boolean;
  readonly value: unknown;
}

/**
 * A function that tells the first property of a prototype that changed, came or went since; null if none did.
 *
 * @param exact whether new properties count that are not enumerable
 */
export function prototypeDifference(
  prototype: Partial<Record<Key, unknown>>,
  exact: boolean,
): () => Difference | null {
  const keys = Reflect.ownKeys(prototype);
  const hasNames = fieldsCheck(prototype, keys, exact);
  const values = keys.map((key) => ({ key, had: true, value: valueAt(prototype, key) }));
  const plain = values.filter(({ key }) => !isOwnGetter(prototype, key));
  const getters = values.filter(({ key }) => isOwnGetter(prototype, key));
  return () => {
    const changed =
      plain.find(({ key, value }) => !Object.is(prototype[key], value)) ??
      getters.find(({ key, value }) => valueAt(prototype, key) !== value);
    if (changed !== undefined) return changed;
    if (hasNames(prototype)) return null;
    const now = Reflect.ownKeys(prototype);
    const at = now.findIndex((key, i) => key !== keys[i]);
    const key = now[at] ?? keys[now.length]!;
    return { key, had: keys.includes(key), value: undefined };
  };
}

/** The value of a property; of a getter the function. */
function valueAt(object: object, key: Key): unknown {
  const property = Object.getOwnPropertyDescriptor(object, key);
  return property?.get ?? property?.value;
}
