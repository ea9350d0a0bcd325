/**
 * @file Catching reads of state that no guard sees while a `pure` function is captured.
 *
 * Private fields (`#x`) of an object, and what a WeakMap, WeakSet or WeakRef holds, cannot be looked at from
 * outside. What getters give is guarded; methods that mention private fields are replaced by errors during
 * capture, for the objects that the function was given. So are the reading methods of weak collections and of
 * iterators, which change when they are read.
 */
import { TesseraError } from '@tessera/shared';
import { chainOf, prototypesOf } from '../guards/prototypes.js';
import { type Container, NOWHERE, walk } from '../guards/walk.js';
import { type Trap, withTraps } from './traps.js';

/** Methods that read what cannot be guarded, by the prototype that has them. */
const WEAK: readonly (readonly [object, readonly string[]])[] = [
  [WeakMap.prototype, ['get', 'has']],
  [WeakSet.prototype, ['has']],
  [WeakRef.prototype, ['deref']],
];

/** A method that reads what no guard sees. */
interface Reader {
  readonly prototype: object;
  readonly key: PropertyKey;
}

const mentions = new WeakMap<object, boolean>();

/** Whether the text of a function mentions a private name. */
function readsPrivate(fn: unknown): fn is object {
  if (typeof fn !== 'function') return false;
  let known = mentions.get(fn);
  if (known === undefined)
    mentions.set(
      fn,
      // Not that of a class, which is no method.
      (known = /^(?!class\b)[^]*(?:\.\s*#|#[\w$]+\s+in\b)/.test(
        Function.prototype.toString.call(fn),
      )),
    );
  return known;
}

function readersOf(object: object, tracked: boolean): Reader[] {
  const readers: Reader[] = [];
  for (const prototype of prototypesOf(object))
    for (const key of Reflect.ownKeys(prototype)) {
      const { value, get } = Object.getOwnPropertyDescriptor(prototype, key)!;
      // Of other objects, what getters give is guarded.
      if (readsPrivate(tracked ? (value ?? get) : value)) readers.push({ prototype, key });
    }
  for (const [prototype, keys] of WEAK)
    if (Object.prototype.isPrototypeOf.call(prototype, object))
      readers.push(...keys.map((key) => ({ prototype, key })));
  return [...readers, ...iteratorReaders(object)];
}

/** `next` of an iterator or generator of the host. */
function iteratorReaders(object: object): Reader[] {
  if (!(Symbol.iterator in object)) return [];
  for (const prototype of chainOf(object))
    if (typeof Object.getOwnPropertyDescriptor(prototype, 'next')?.value === 'function')
      return [{ prototype, key: 'next' }];
  return [];
}

/** Runs `fn` with the traps set for all that the roots reach. @throws pure-hidden-state */
export function withHiddenStateTraps<R>(
  roots: readonly { readonly value: unknown }[],
  name: string,
  fn: () => R,
): R {
  const watched = new Set<object>();
  const traps = new Map<object, Map<PropertyKey, Trap>>();
  const watch = (object: object, tracked: boolean): void => {
    for (const { prototype, key } of readersOf(object, tracked)) {
      watched.add(object);
      let keys = traps.get(prototype);
      if (keys === undefined) traps.set(prototype, (keys = new Map()));
      const property = Object.getOwnPropertyDescriptor(prototype, key)!;
      if (property.configurable === true && !keys.has(key))
        keys.set(key, {
          object: prototype,
          key,
          property: trapped(property, key, watched, name),
        });
    }
  };
  const container = (found: Container): void => watch(found.value, found.kind === 'tracked');
  for (const { value } of roots) walk(value, NOWHERE, { container }, true);
  return withTraps(
    [...traps.values()].flatMap((keys) => [...keys.values()]),
    fn,
  );
}

/** The property with a function that refuses watched objects. */
function trapped(
  property: PropertyDescriptor,
  key: PropertyKey,
  watched: ReadonlySet<object>,
  name: string,
): PropertyDescriptor {
  const original: (...args: unknown[]) => unknown = property.value ?? property.get;
  const replaced = function (this: object, ...args: unknown[]): unknown {
    if (watched.has(this)) throw hiddenState(name, this, key);
    return original.apply(this, args);
  };
  return property.get === undefined
    ? { ...property, value: replaced }
    : { ...property, get: replaced };
}

function hiddenState(name: string, object: object, key: PropertyKey): TesseraError {
  const type = object.constructor?.name ?? 'an object';
  return new TesseraError(
    'pure-hidden-state',
    `${name} is compiled with pure: true but reads state that no guard sees: ${type}.${String(key)}.`,
    {
      hints: [
        'List what it reads in captures, or pass it as an argument, and read it there.',
        'Or compile without pure: replay runs the JavaScript on every call.',
      ],
    },
  );
}
