/**
 * @file `Layout`: the class of an object, the names of its attributes in order, and its primitive attributes.
 *
 * One function per layout compares all of it, and objects of one layout share the function: the engine meets
 * one kind of object there, which makes it several times cheaper than a comparison per attribute.
 */
import type { Key } from '@tessera/graph';
import { namesOf } from './fields-check.js';
import { isPrimitive } from './is-primitive.js';
import { mayGenerate } from './may-generate.js';

/** See the file header. */
export interface Layout {
  /** Names of the primitive attributes, in the order of the expected values. */
  readonly primitives: readonly string[];
  /** Whether an object has the class, the names and the values. */
  readonly fits: Fits;
}

/** Compares one object. */
type Fits = (now: unknown, expected: readonly unknown[]) => boolean;

/** Per class, by names. */
const layouts = new WeakMap<object, Map<string, Layout>>();

/** The layout of an object; of its attributes `keys` are followed. */
export function layoutOf(object: object, keys: readonly Key[]): Layout {
  const names = namesOf(object);
  const primitives = keys.filter(
    (key): key is string =>
      typeof key === 'string' && isPrimitive((object as Record<string, unknown>)[key]),
  );
  const type = object.constructor as object;
  const id = JSON.stringify([names, primitives]);
  let known = layouts.get(type);
  if (known === undefined) layouts.set(type, (known = new Map<string, Layout>()));
  let layout = known.get(id);
  if (layout === undefined) known.set(id, (layout = makeLayout(type, names, primitives)));
  return layout;
}

function makeLayout(type: object, names: readonly string[], primitives: readonly string[]): Layout {
  // Where generated code is forbidden, nothing is known to fit, and guards are checked one by one.
  return { primitives, fits: generate(type, names, primitives) ?? (() => false) };
}

/** The function as code of its own; null where generated code is forbidden. */
function generate(
  type: object,
  names: readonly string[],
  primitives: readonly string[],
): Fits | null {
  // As Object.is: zeros have signs.
  const values = primitives.map(
    (name, i) => `
  a = object[${JSON.stringify(name)}];
  b = values[${i}];
  if (a === b ? a === 0 && 1 / a !== 1 / b : a === a || b === b) return false;`,
  );
  if (!mayGenerate()) return null;
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
  ) as (...given: unknown[]) => Fits;
  return build(type, names);
}
