/**
 * @file Walking arguments and tracked objects: every tensor and primitive that a trace may depend on.
 *
 * Followed: arrays, plain records, Maps, Sets, tensors (also their `.grad`), instances of the program's
 * classes and tracked objects. Of a tracked object the own enumerable attributes are followed, except
 * functions and names starting with an underscore, of an instance all but the latter; an object with a
 * `[Symbol.for('tessera.trackedState')]()` method is followed through what that returns instead. Objects
 * of the host (dates, promises, typed arrays), functions and long arrays of instances are opaque leaves.
 * With `getters`, what getters give is followed too, but for objects of classes, which may be others each time.
 */
import { type Tensor, isTensor, isTracked } from '@tessera/tensor';
import { type Key, getterKeys, isOwnGetter, ownKeys, readGetter } from './followed-keys.js';
import { type Source, type SourceStep, extend } from './source.js';

/** Protocol of objects that say themselves what a tracer guards. */
export const TRACKED_STATE: unique symbol = Symbol.for('tessera.trackedState') as never;

/** Called for what a walk finds. */
export interface Visitor {
  tensor?(tensor: Tensor, source: Source): void;
  /** A number, string, boolean, null or undefined. */
  primitive?(value: unknown, source: Source): void;
  /** A container, before its elements; `keys` are those followed. */
  container?(value: object, keys: readonly Key[] | number, source: Source): void;
  /** An object that is not followed. */
  opaque?(value: unknown, source: Source): void;
}

type Kind =
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

/** Arrays of an instance that are longer hold data rather than settings. */
const LONG = 256;

function kindOf(value: unknown): Kind {
  if (typeof value === 'function' || typeof value === 'symbol') return 'opaque';
  if (typeof value !== 'object' || value === null) return 'primitive';
  if (isTensor(value)) return 'tensor';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Map) return 'map';
  if (value instanceof Set) return 'set';
  if (TRACKED_STATE in value) return 'state';
  if (isTracked(value)) return 'tracked';
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto === Object.prototype || proto === null) return 'record';
  return isOfProgram(proto as object) ? 'instance' : 'opaque';
}

const ofProgram = new WeakMap<object, boolean>();

/** Whether a class, and all that it extends, is written in JavaScript. */
function isOfProgram(proto: object): boolean {
  let known = ofProgram.get(proto);
  if (known !== undefined) return known;
  const made: unknown = Object.hasOwn(proto, 'constructor') ? proto.constructor : null;
  const above = Object.getPrototypeOf(proto) as object | null;
  known =
    typeof made === 'function' &&
    !Function.prototype.toString.call(made).includes('[native code]') &&
    (above === Object.prototype || (above !== null && isOfProgram(above)));
  ofProgram.set(proto, known);
  return known;
}

/** Whether everything of a record is followed: not where an object says itself what is. */
function followsAll({ steps }: Source): boolean {
  return !steps.some((step) => step.kind === 'state' || (step.kind === 'property' && step.tracked));
}

/** Attributes of a record, an instance or a tracked object at `source` that are followed. */
export function followedKeys(value: object, source: Source): Key[] {
  const kind = kindOf(value);
  const all = followsAll(source);
  const keys = ownKeys(value, kind !== 'tracked' && all);
  if (kind === 'record' && all) return keys;
  return keys.filter((key) => {
    if (typeof key === 'string' && key.startsWith('_')) return false;
    if (kind === 'instance' && all) return !isOwnGetter(value, key);
    return typeof (value as Record<Key, unknown>)[key] !== 'function';
  });
}

/** Visits everything reachable from `root`, each object once, iteratively and in order. */
export function walk(root: unknown, source: Source, visitor: Visitor, getters = false): void {
  const seen = new Set<object>();
  const stack: [unknown, Source][] = [[root, source]];
  while (stack.length > 0) {
    const [value, at] = stack.pop()!;
    const kind = kindOf(value);
    if (kind === 'primitive') {
      visitor.primitive?.(value, at);
      continue;
    }
    if (kind === 'opaque') {
      visitor.opaque?.(value, at);
      continue;
    }
    const object = value as object;
    if (kind === 'tensor') {
      visitor.tensor?.(object as Tensor, at);
      const grad = (object as Tensor).autograd?.grad;
      if (grad != null && !seen.has(object)) visitor.tensor?.(grad, extend(at, { kind: 'grad' }));
      seen.add(object);
      continue;
    }
    if (seen.has(object)) continue;
    seen.add(object);
    pushChildren(object, kind, at, visitor, stack, getters);
  }
}

function pushChildren(
  object: object,
  kind: Kind,
  at: Source,
  visitor: Visitor,
  stack: [unknown, Source][],
  getters: boolean,
): void {
  const children: [unknown, SourceStep][] = [];
  if (kind === 'array') {
    const array = object as readonly unknown[];
    visitor.container?.(object, array.length, at);
    array.forEach((item, index) => children.push([item, { kind: 'index', index }]));
  } else if (kind === 'map') {
    const map = object as ReadonlyMap<unknown, unknown>;
    visitor.container?.(object, map.size, at);
    let index = 0;
    for (const [key, item] of map) children.push([item, { kind: 'map', index: index++, key }]);
  } else if (kind === 'set') {
    const set = object as ReadonlySet<unknown>;
    visitor.container?.(object, set.size, at);
    let index = 0;
    for (const item of set) children.push([item, { kind: 'item', index: index++ }]);
  } else if (kind === 'state') {
    children.push([(object as { [TRACKED_STATE](): unknown })[TRACKED_STATE](), { kind: 'state' }]);
  } else {
    const keys = followedKeys(object, at);
    visitor.container?.(object, keys, at);
    for (const key of keys) {
      const value = (object as Record<Key, unknown>)[key];
      const step: SourceStep = { kind: 'property', key, tracked: kind === 'tracked' };
      if (kind === 'instance' && Array.isArray(value) && value.length > LONG)
        visitor.opaque?.(value, extend(at, step));
      else children.push([value, step]);
    }
    if (getters && kind !== 'tracked')
      for (const key of getterKeys(object, keys)) {
        const value = readGetter(object, key);
        const step: SourceStep = { kind: 'getter', key };
        if (kindOf(value) === 'instance') visitor.opaque?.(value, extend(at, step));
        else children.push([value, step]);
      }
  }
  for (let i = children.length - 1; i >= 0; i--)
    stack.push([children[i]![0], extend(at, children[i]![1])]);
}
