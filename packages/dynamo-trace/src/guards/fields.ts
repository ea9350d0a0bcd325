/**
 * @file The attributes of an object: their names in order and, of one layout, class and primitive values.
 *
 * A new attribute changes what code that enumerates or asks for it does, and no guard on a value sees it. Objects
 * with numbered attributes (a `Sequential`) are compared by their values, which engines list without making text of
 * numbers. Where also symbols and attributes that are not enumerable count, all own keys are listed.
 *
 * One generated function per layout compares class, names and primitives, and objects of one layout share it: the
 * engine meets one kind of object there, which makes it several times cheaper than a comparison per attribute, and
 * soon optimises it.
 */
import type { Key } from '@tessera/graph';
import { canGenerateCode } from '@tessera/shared';
import { traceConfig } from '../config.js';
import { isIndex, isOwnGetter, isPrimitive } from './followed-keys.js';

type Fields = Partial<Readonly<Record<string | number, unknown>>>;

/**
 * A check whether an object has the attributes that `object` has now, in their order; of those `keys` are followed.
 *
 * @param exact whether symbols and attributes that are not enumerable count
 */
export function fieldsCheck(
  object: object,
  keys: readonly Key[],
  exact: boolean,
): (now: unknown) => boolean {
  const isSame = exact ? keysCheck(object, Reflect.ownKeys) : namesCheck(object, keys);
  return (now) =>
    ((typeof now === 'object' && now !== null) || typeof now === 'function') && isSame(now);
}

function keysCheck(object: object, list: (of: object) => readonly Key[]): (now: object) => boolean {
  const before = list(object);
  return (now) => sameKeys(list(now), before);
}

function namesCheck(object: Fields, keys: readonly Key[]): (now: object) => boolean {
  const own = Object.keys(object);
  if (own.some(isIndex))
    return own.some((name) => isOwnGetter(object, name))
      ? keysCheck(object, Object.keys)
      : valuesCheck(own, (name) => keys.includes(name) && !isPrimitive(object[name]));
  const names = namesOf(object);
  return (now) => {
    let i = 0;
    for (const name in now) if (name !== names[i++]) return false;
    return i === names.length;
  };
}

/**
 * Compares values in their order with those under the names; equal ones may have changed places. Numbered ones are
 * in order always, and those that are guarded objects are missed by their own guards.
 */
function valuesCheck(
  names: readonly string[],
  isGuarded: (name: string) => boolean,
): (now: Fields) => boolean {
  const compared = [...names.entries()]
    .filter(([, name]) => !(isIndex(name) && isGuarded(name)))
    .map(([at, name]) => ({ at, key: isIndex(name) ? Number(name) : name }));
  return (now) => {
    const values: unknown[] = Object.values(now);
    if (values.length !== names.length) return false;
    for (const { at, key } of compared) if (values[at] !== now[key]) return false;
    return true;
  };
}

/** Whether keys are the same, in order. */
export function sameKeys(a: readonly Key[], b: readonly Key[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Enumerable names, also those that were assigned to a prototype. */
function namesOf(object: object): string[] {
  const names: string[] = [];
  for (const name in object) names.push(name);
  return names;
}

/** The class of an object, the names of its attributes in order, and which of them are primitives. */
export interface Layout {
  /** In the order of the values that `fits` compares. */
  readonly primitives: readonly Key[];
  /** Whether an object has the class, the names and these values. */
  readonly fits: (now: unknown, values: readonly unknown[]) => boolean;
}

/** Per class, by names. */
const layouts = new WeakMap<object, Map<string, Layout>>();

/** The layout of an object, of whose attributes `keys` are followed; null where code may not be generated. */
export function layoutOf(object: Fields, keys: readonly Key[]): Layout | null {
  if (!traceConfig.generateCode || !canGenerateCode()) return null;
  const names = namesOf(object);
  const primitives = keys.filter(
    (key): key is string => typeof key === 'string' && isPrimitive(object[key]),
  );
  const type = object.constructor;
  const id = JSON.stringify([names, primitives]);
  let known = layouts.get(type);
  if (known === undefined) layouts.set(type, (known = new Map<string, Layout>()));
  let layout = known.get(id);
  if (layout === undefined)
    known.set(id, (layout = { primitives, fits: generate(type, names, primitives) }));
  return layout;
}

function generate(
  type: object,
  names: readonly string[],
  primitives: readonly string[],
): Layout['fits'] {
  // As Object.is: zeros have signs.
  const values = primitives.map(
    (name, i) => `
  a = object[${JSON.stringify(name)}];
  b = values[${i}];
  if (a === b ? a === 0 && 1 / a !== 1 / b : a === a || b === b) return false;`,
  );
  const build = new Function(
    'type',
    'names',
    `return (object, values) => {
  if (object == null || object.constructor !== type) return false;
  let i = 0, a, b;
  for (const name in object) if (name !== names[i++]) return false;
  if (i !== ${names.length}) return false;${values.join('')}
  return true;
};`,
  ) as (...given: unknown[]) => Layout['fits'];
  return build(type, names);
}
