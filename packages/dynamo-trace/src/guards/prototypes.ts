/**
 * @file What an object inherits from its classes: methods, and values that were put on a prototype.
 */
import type { Key } from '@tessera/graph';
import { isTracked } from '@tessera/tensor/internal';
import { FieldsCheck } from './fields-check.js';
import { isOwnGetter } from './followed-keys.js';

/** Prototypes of the program that an object inherits from; a tracked base class, which is a library's, is none. */
export function prototypesOf(object: object): object[] {
  const found: object[] = [];
  let below: object | null = null;
  for (
    let at = Object.getPrototypeOf(object) as object | null;
    at !== null && !isNative(at);
    at = Object.getPrototypeOf(at) as object | null
  ) {
    if (below !== null && isTracked(below) && !isTracked(at)) break;
    found.push(at);
    below = at;
  }
  return found;
}

const native = new WeakMap<object, boolean>();

function isNative(prototype: object): boolean {
  let known = native.get(prototype);
  if (known !== undefined) return known;
  const made: unknown = Object.hasOwn(prototype, 'constructor') ? prototype.constructor : null;
  known =
    prototype === Object.prototype ||
    (made !== null &&
      (typeof made !== 'function' ||
        Function.prototype.toString.call(made).includes('[native code]')));
  native.set(prototype, known);
  return known;
}

/** A property of a prototype and what it was; of a getter the function. */
interface Inherited {
  readonly key: Key;
  readonly value: unknown;
}

/** See the file header. */
export class PrototypeCheck {
  private readonly keys: readonly Key[];
  private readonly names: FieldsCheck;
  private readonly values: readonly Inherited[];
  private readonly getters: readonly Inherited[];

  /** @param exact whether new properties count that are not enumerable */
  constructor(
    private readonly prototype: object,
    exact: boolean,
  ) {
    this.keys = Reflect.ownKeys(prototype);
    this.names = new FieldsCheck(prototype, this.keys, exact, null);
    const inherited = this.keys.map((key) => ({ key, value: valueAt(prototype, key) }));
    this.values = inherited.filter(({ key }) => !isOwnGetter(prototype, key));
    this.getters = inherited.filter(({ key }) => isOwnGetter(prototype, key));
  }

  /** A property that changed, came or went; null if nothing did. */
  difference(): Difference | null {
    const { prototype } = this;
    for (const { key, value } of this.values)
      if (!Object.is((prototype as Record<Key, unknown>)[key], value))
        return { key, had: true, value };
    for (const { key, value } of this.getters)
      if (valueAt(prototype, key) !== value) return { key, had: true, value };
    if (this.names.check(prototype)) return null;
    const now = Reflect.ownKeys(prototype);
    const at = now.findIndex((key, i) => key !== this.keys[i]);
    const key = now[at] ?? this.keys[now.length]!;
    return { key, had: this.keys.includes(key), value: undefined };
  }
}

/** A difference of a prototype: the property, and what it was if there was one. */
interface Difference {
  readonly key: Key;
  readonly had: boolean;
  readonly value: unknown;
}

function valueAt(object: object, key: Key): unknown {
  const property = Object.getOwnPropertyDescriptor(object, key);
  return property?.get ?? property?.value;
}
