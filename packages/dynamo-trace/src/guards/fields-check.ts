/**
 * @file `FieldsCheck`: whether an object has the attributes that it had, in their order.
 *
 * A new attribute changes what code that enumerates or asks for it does, and no guard on a value sees it.
 * Objects with numbered attributes (a `Sequential`) are compared by their values, which engines list without
 * making text of numbers. Where also symbols and attributes that are not enumerable count, all own keys are
 * listed. Generated code compares names together with class and values (layout.ts) where it can.
 */
import type { Key } from '@tessera/graph';
import { isIndex, isOwnGetter } from './followed-keys.js';

/** See the file header. */
export class FieldsCheck {
  private readonly isSame: (now: object) => boolean;

  /**
   * @param keys attributes that are followed
   * @param exact whether symbols and attributes that are not enumerable count
   * @param followed where not all names count: those that do
   */
  constructor(
    object: object,
    private readonly keys: readonly Key[],
    exact: boolean,
    private readonly followed: ((now: object) => readonly Key[]) | null,
  ) {
    if (exact) {
      const all = Reflect.ownKeys(object);
      this.isSame = (now) => sameKeys(Reflect.ownKeys(now), all);
      return;
    }
    const own = Object.keys(object);
    if (own.some(isIndex)) {
      this.isSame = own.some((name) => isOwnGetter(object, name))
        ? (now) => sameKeys(Object.keys(now), own)
        : sameValues(own, (name) => keys.includes(name) && isObject(object, name));
      return;
    }
    const names = namesOf(object);
    this.isSame = (now) => hasNames(now, names);
  }

  /** Whether an object has these attributes. */
  check(now: unknown): boolean {
    if ((typeof now !== 'object' && typeof now !== 'function') || now === null) return false;
    return this.isSame(now) || (this.followed !== null && sameKeys(this.followed(now), this.keys));
  }
}

/** Enumerable names, also those that were assigned to a prototype. */
export function namesOf(object: object): string[] {
  const names: string[] = [];
  for (const name in object) names.push(name);
  return names;
}

function hasNames(object: object, names: readonly string[]): boolean {
  let i = 0;
  for (const name in object) if (name !== names[i++]) return false;
  return i === names.length;
}

function sameKeys(a: readonly Key[], b: readonly Key[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function isObject(object: object, name: string): boolean {
  const value = (object as Record<string, unknown>)[name];
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * Compares values in their order with those under the names; equal ones may have changed places. Numbered ones are
 * in order always, and those that are guarded objects are missed by their own guards.
 */
function sameValues(
  names: readonly string[],
  isGuarded: (name: string) => boolean,
): (now: object) => boolean {
  const compared = [...names.entries()]
    .filter(([, name]) => !(isIndex(name) && isGuarded(name)))
    .map(([at, name]) => ({ at, key: isIndex(name) ? Number(name) : name }));
  return (now) => {
    const values: unknown[] = Object.values(now);
    if (values.length !== names.length) return false;
    for (const { at, key } of compared)
      if (values[at] !== (now as Record<string | number, unknown>)[key]) return false;
    return true;
  };
}
