/**
 * @file Walking arguments and tracked objects: every tensor and value that a trace may depend on.
 *
 * Followed: arrays, plain records, Maps, Sets, tensors (also their `.grad`), instances of the program's
 * classes and tracked objects. Of instances and tracked objects the own attributes are followed except those
 * whose names start with an underscore; an object with a `[Symbol.for('tessera.trackedState')]()` method is followed
 * through what that returns instead. Functions and objects of the host (dates, promises, typed arrays) are
 * opaque leaves. With `everything` (what JavaScript that does not run again could have read) also names with
 * underscores, what getters give, the classes of objects, attributes of functions and of objects of the host;
 * objects of classes that getters give are opaque, as they may be others each time.
 */
import { type Key, type Source, type SourceStep, extend, readStep } from '@tessera/graph';
import { type Tensor, isTensor } from '@tessera/tensor';
import { isTracked } from '@tessera/tensor/internal';
import {
  getterKeys,
  isIndex,
  isOwnGetter,
  isPrimitive,
  isPublic,
  ownKeys,
} from './followed-keys.js';
import { chainOf, isNative, prototypesOf } from './prototypes.js';

/** Protocol of objects that say themselves what a tracer guards. */
export const TRACKED_STATE: unique symbol = Symbol.for('tessera.trackedState');

/** What an object is to a walk. */
export type Kind =
  | 'tensor'
  | 'array'
  | 'map'
  | 'set'
  | 'record'
  | 'instance'
  | 'tracked'
  | 'state'
  | 'primitive'
  | 'opaque';

/** A container that a walk found. */
export interface Container {
  readonly value: object;
  readonly kind: Kind;
  readonly source: Source;
  /** Attributes that are followed, in order: of an array or Map those besides its elements. */
  readonly keys: readonly Key[];
}

/** Called for what a walk finds. */
export interface Visitor {
  tensor?(tensor: Tensor, source: Source): void;
  /** A number, string, boolean, null or undefined. */
  primitive?(value: unknown, source: Source): void;
  /** A long array of primitives; without this its elements come one by one. */
  data?(value: readonly unknown[], source: Source): void;
  /** A container, before its elements. */
  container?(found: Container): void;
  /** An object that is not followed; its attributes, if any are, come as those of a container. */
  opaque?(value: unknown, source: Source): void;
  /** A container met again; it is followed where it was met first. */
  again?(value: object, source: Source, first: Source): void;
  /** What objects inherit from, once, and what the first of them is; with `everything`. */
  prototype?(prototype: object, source: Source, of: Kind): void;
}

/** Where walks begin whose sources nobody asks for. */
export const NOWHERE: Source = { root: '', steps: [] };

/** Arrays of primitives that are longer hold data rather than settings. */
const LONG = 64;

function kindOf(value: unknown): Kind {
  if (typeof value === 'function' || typeof value === 'symbol') return 'opaque';
  if (typeof value !== 'object' || value === null) return 'primitive';
  if (isTensor(value)) return 'tensor';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Map) return 'map';
  if (value instanceof Set) return 'set';
  if (TRACKED_STATE in value) return 'state';
  if (isTracked(value)) return 'tracked';
  const proto: object | null = Object.getPrototypeOf(value);
  if (proto === Object.prototype || proto === null) return 'record';
  if (notFollowed.has(proto)) return 'opaque';
  return isOfProgram(value) ? 'instance' : 'opaque';
}

const notFollowed = new WeakSet<object>();

/** Instances of a class of the tracer are no data: guards would hold guards of earlier calls. */
export function doNotFollow(type: { readonly prototype: object }): void {
  notFollowed.add(type.prototype);
}

/** Whether all that an object inherits from is written in JavaScript: classes, and objects without a constructor. */
function isOfProgram(object: object): boolean {
  for (const at of chainOf(object)) if (at !== Object.prototype && isNative(at)) return false;
  return true;
}

/** Whether names with underscores are left out at `source`: of what a tracked object holds. */
function hidesPrivate({ steps }: Source): boolean {
  return steps.some((step) => step.kind === 'state' || (step.kind === 'property' && step.tracked));
}

/** How far a walk goes, and where it was. */
interface Reach {
  readonly everything: boolean;
  /** Where objects were met first. */
  readonly seen: Map<object, Source>;
  readonly prototypes: Set<object>;
}

/** Attributes of an object of this kind at `source` that are followed. */
export function followedKeys(
  value: object,
  kind: Kind,
  source: Source,
  everything: boolean,
): Key[] {
  switch (kind) {
    case 'tensor':
    case 'state':
    case 'primitive':
      return [];
    case 'array':
    case 'map':
    case 'set':
      return everything ? extraKeys(value) : [];
    case 'opaque':
      return everything ? opaqueKeys(value) : [];
    case 'record':
    case 'instance':
    case 'tracked': {
      const hides = !everything && (kind !== 'record' || hidesPrivate(source));
      const keys = ownKeys(value, !hides).filter((key) => !hides || isPublic(key));
      return kind === 'record' ? keys : keys.filter((key) => !isOwnGetter(value, key));
    }
  }
}

/** Attributes of an array, Map or Set besides its elements. */
function extraKeys(value: object): Key[] {
  const keys = ownKeys(value, true);
  return Array.isArray(value) ? keys.filter((key) => key !== 'length' && !isIndex(key)) : keys;
}

/** Attributes of functions and of objects of the host: typed arrays have their elements there. */
function opaqueKeys(value: object): Key[] {
  if (typeof value === 'function') return Object.keys(value);
  if (ArrayBuffer.isView(value) || notFollowed.has(Object.getPrototypeOf(value))) return [];
  return ownKeys(value, true);
}

/** Visits everything reachable from `root`, each object once, iteratively and in order. */
export function walk(root: unknown, source: Source, visitor: Visitor, everything = false): void {
  const reach: Reach = { everything, seen: new Map(), prototypes: new Set() };
  const stack: [unknown, Source][] = [[root, source]];
  while (stack.length > 0) {
    const [value, at] = stack.pop()!;
    const kind = kindOf(value);
    if (kind === 'primitive') {
      visitor.primitive?.(value, at);
      continue;
    }
    const object = value as object;
    const first = reach.seen.get(object);
    if (isTensor(value)) {
      visitor.tensor?.(value, at);
      const grad = value.autograd?.grad;
      if (grad != null && first === undefined) visitor.tensor?.(grad, extend(at, { kind: 'grad' }));
      if (first === undefined) reach.seen.set(object, at);
      continue;
    }
    if (kind === 'opaque') {
      visitor.opaque?.(value, at);
      if (!everything || first !== undefined || typeof value === 'symbol') continue;
    } else if (first !== undefined) {
      visitor.again?.(object, at, first);
      continue;
    }
    reach.seen.set(object, at);
    const children = childrenOf(object, kind, at, visitor, reach);
    for (let i = children.length - 1; i >= 0; i--)
      stack.push([children[i]![0], extend(at, ...children[i]![1])]);
  }
}

type Child = [unknown, readonly SourceStep[]];

function childrenOf(
  object: object,
  kind: Kind,
  source: Source,
  visitor: Visitor,
  reach: Reach,
): Child[] {
  if (kind === 'state')
    return [[(object as { [TRACKED_STATE](): unknown })[TRACKED_STATE](), [{ kind: 'state' }]]];
  const keys = followedKeys(object, kind, source, reach.everything);
  visitor.container?.({ value: object, kind, source, keys });
  const children = elementsOf(object, source, visitor);
  for (const key of keys)
    children.push([
      Reflect.get(object, key),
      [{ kind: 'property', key, tracked: kind === 'tracked' }],
    ]);
  if (!reach.everything || kind === 'opaque') return children;
  const prototypes = prototypesOf(object);
  // Getters of a tracked object read what is followed already.
  if (kind !== 'tracked')
    for (const key of getterKeys(object, prototypes, keys)) {
      const step: SourceStep = { kind: 'getter', key };
      const value = readStep(object, step);
      if (kindOf(value) === 'instance') visitor.opaque?.(value, extend(source, step));
      else children.push([value, [step]]);
    }
  prototypes.forEach((prototype, depth) => {
    if (reach.prototypes.has(prototype)) return;
    reach.prototypes.add(prototype);
    const type: SourceStep = { kind: 'type', depth };
    visitor.prototype?.(prototype, extend(source, type), kind);
    // Static attributes of the class, and objects that instances share.
    for (const key of ownKeys(prototype, true)) {
      if (isOwnGetter(prototype, key)) continue;
      const value: unknown = Reflect.get(prototype, key);
      if (key === 'constructor' || (typeof value === 'object' && value !== null))
        children.push([value, [type, { kind: 'property', key }]]);
    }
  });
  return children;
}

/** What an array, Map or Set holds. */
function elementsOf(object: object, source: Source, visitor: Visitor): Child[] {
  if (Array.isArray(object)) {
    if (visitor.data !== undefined && object.length > LONG && object.every(isPrimitive)) {
      visitor.data(object, source);
      return [];
    }
    return Array.from(object, (item, index): Child => [item, [{ kind: 'index', index }]]);
  }
  if (object instanceof Set) return itemsOf(object);
  if (!(object instanceof Map)) return [];
  let index = 0;
  return [
    ...itemsOf(object).filter(([key]) => !isPrimitive(key)),
    ...[...object].map(([key, item]): Child => [item, [{ kind: 'map', index: index++, key }]]),
  ];
}

/** Elements of a Set, or keys of a Map, in order of insertion. */
function itemsOf(object: ReadonlySet<unknown> | ReadonlyMap<unknown, unknown>): Child[] {
  return [...object.keys()].map((item, index): Child => [
    item,
    [{ kind: 'items' }, { kind: 'index', index }],
  ]);
}
