/**
 * @file `Guard`: one condition on a value that is found at a path, and how each kind of value is guarded.
 */
import { type Key, type Source, printKey, printSource } from '@tessera/graph';
import { type Tensor, isTensor } from '@tessera/tensor';
import { type Layout, fieldsCheck, layoutOf, sameKeys } from './fields.js';
import { isIndex, isPrimitive } from './followed-keys.js';
import { literal, noTensor, typeName } from './guard-words.js';
import { prototypeDifference } from './prototypes.js';
import { sameOpaque } from './same-opaque.js';
import type { TensorGuard } from './tensor-guard.js';
import { type Container, followedKeys } from './walk.js';

/** Kinds of guard, for counts in `explain()`. */
export type GuardKind =
  | 'GLOBAL_STATE'
  | 'CONSTANT_MATCH'
  | 'TYPE_MATCH'
  | 'LENGTH_CHECK'
  | 'DICT_KEYS'
  | 'ID_MATCH'
  | 'TENSOR_MATCH'
  | 'DUPLICATE_INPUT'
  | 'SHAPE_ENV';

/** Where a guarded value is found. */
export interface Place {
  /** Index of the root it is read from. */
  readonly root: number;
  readonly source: Source;
}

/** What is known of some guards only. */
interface GuardParts {
  /** The expected value of a CONSTANT_MATCH. */
  readonly value?: unknown;
  /** Whether it asks for the same function, or object that is not seen through. */
  readonly opaque?: boolean;
  /** Another place that the condition is about; `check` is given what is there. */
  readonly other?: Place;
  /** A tensor that carries this guard passed it before. */
  readonly spec?: TensorGuard;
  /** Says the same as the guards of this object and of its primitive attributes, if it fits with these values. */
  readonly layout?: { readonly of: Layout; readonly values: readonly unknown[] };
  /** Words for a failure, if they differ from the condition. */
  readonly explain?: (value: unknown, name: string) => string;
}

/** See the file header. */
export class Guard {
  /** @param print the condition; `name` is the printed source */
  constructor(
    readonly kind: GuardKind,
    readonly place: Place,
    private readonly print: (name: string) => string,
    readonly check: (value: unknown, other?: unknown) => boolean,
    readonly parts: GuardParts = {},
  ) {}

  /** The printed source. */
  get name(): string {
    return printSource(this.place.source);
  }

  /** The printed condition. */
  get text(): string {
    return this.print(this.name);
  }

  /** Why a value fails, in words. */
  reason(value: unknown): string {
    return this.parts.explain?.(value, this.name) ?? this.text;
  }
}

/** A number, string, boolean or nothing. */
export function constantGuard(place: Place, value: unknown): Guard {
  const none = value === null || value === undefined;
  return new Guard(
    none ? 'ID_MATCH' : 'CONSTANT_MATCH',
    place,
    (name) => (none ? `${name} is None` : `${name} == ${literal(value)}`),
    (now) => Object.is(now, value),
    { value },
  );
}

/** A function, or an object that is not seen through. */
export function opaqueGuard(place: Place, value: unknown): Guard {
  const print = (name: string): string => `${name} is the same ${typeName(value)}`;
  return new Guard('ID_MATCH', place, print, sameOpaque(value), { opaque: true });
}

/** An object that was met at two places. */
export function sameObjectGuard(place: Place, first: Place): Guard {
  const print = (name: string): string => `${printSource(first.source)} is ${name}`;
  const check = (now: unknown, other: unknown): boolean => now === other;
  return new Guard('DUPLICATE_INPUT', place, print, check, { other: first });
}

/** The elements of a long array of primitives. */
export function dataGuard(place: Place, array: readonly unknown[]): Guard {
  const value = [...array];
  const changed = (now: unknown): number => (Array.isArray(now) ? changedItem(now, value) : 0);
  return new Guard(
    'CONSTANT_MATCH',
    place,
    (name) => `${name} == [${value.slice(0, 3).map(literal).join(', ')}, …]`,
    (now) => changed(now) < 0,
    {
      value,
      explain: (now, name) => `${name}[${changed(now)}] == ${literal(value[changed(now)])}`,
    },
  );
}

/** What an object inherits; `exact`: whether new properties count that are not enumerable. */
export function prototypeGuard(place: Place, prototype: object, exact: boolean): Guard {
  const difference = prototypeDifference(prototype, exact);
  return new Guard(
    'TYPE_MATCH',
    place,
    (name) => `${name} is as it was`,
    () => difference() === null,
    {
      explain: (_, name) => {
        const { key, had, value } = difference()!;
        if (!had)
          return `not hasattr(${name}, ${typeof key === 'string' ? `'${key}'` : String(key)})`;
        const attribute = `${name}${printKey(key)}`;
        return isPrimitive(value)
          ? `${attribute} == ${literal(value)}`
          : `${attribute} is the same ${typeName(value)}`;
      },
    },
  );
}

/** A tensor with its metadata; what is symbolic holds for any size. */
export function tensorGuard(place: Place, guard: TensorGuard): Guard {
  const { isSymbolic } = guard;
  const fits = (tensor: Tensor, name: string): boolean =>
    isSymbolic ? guard.explain(tensor, name) === null : guard.check(tensor);
  return new Guard(
    'TENSOR_MATCH',
    place,
    (name) => `${name}: ${guard.toString()}`,
    (now) => isTensor(now) && fits(now, ''),
    {
      ...(isSymbolic ? {} : { spec: guard }),
      explain: (now, name) =>
        isTensor(now) ? (guard.explain(now, name) ?? '') : noTensor(now, name),
    },
  );
}

/** A container: what it is, how much it holds and which attributes it has; `everything` as for `walk`. */
export function containerGuards(found: Container, root: number, everything: boolean): Guard[] {
  const place = { root, source: found.source };
  switch (found.kind) {
    case 'array':
      return [arrayGuard(found, place, everything)];
    case 'map':
    case 'set':
      return [itemsGuard(found, place, everything)];
    case 'record':
    case 'opaque':
      return [fieldsGuard(found, place, everything)];
    default:
      return [typeGuard(found, place), fieldsGuard(found, place, everything)];
  }
}

/** Whether an object gets its constructor from the class that it is of. */
function inheritsConstructor(object: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(object);
  return (
    !Object.hasOwn(object, 'constructor') &&
    prototype !== null &&
    Object.hasOwn(prototype, 'constructor')
  );
}

function typeGuard({ value }: Container, place: Place): Guard {
  const prototype: unknown = Object.getPrototypeOf(value);
  const type = value.constructor;
  const byConstructor = inheritsConstructor(value);
  return new Guard(
    'TYPE_MATCH',
    place,
    (name) => `type(${name}) is ${type?.name ?? 'object'}`,
    (now) =>
      typeof now === 'object' &&
      now !== null &&
      (byConstructor ? now.constructor === type : Object.getPrototypeOf(now) === prototype),
  );
}

function arrayGuard({ value, keys }: Container, place: Place, everything: boolean): Guard {
  const { length } = value as readonly unknown[];
  const type = value.constructor;
  const count = Object.values(value).length;
  // Holes, and attributes besides the elements.
  const isExact = (now: readonly unknown[]): boolean =>
    now.constructor === type &&
    Object.values(now).length === count &&
    keys.every((key) => Object.hasOwn(now, key));
  return new Guard(
    'LENGTH_CHECK',
    place,
    (name) => `len(${name}) == ${length}`,
    (now) => Array.isArray(now) && now.length === length && (!everything || isExact(now)),
  );
}

/** Stands for an element that is followed: its place counts, not which one it is. */
const FOLLOWED: unique symbol = Symbol('followed');

/** Index of the first item that is not what `before` says, or -1. */
function changedItem(now: Iterable<unknown>, before: readonly unknown[]): number {
  let i = 0;
  for (const item of now) {
    const expected = before[i];
    if (expected === FOLLOWED ? isPrimitive(item) : !Object.is(item, expected)) return i;
    i++;
  }
  return i === before.length ? -1 : i;
}

function itemsGuard({ value, keys }: Container, place: Place, everything: boolean): Guard {
  const object = value as ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;
  const type = value.constructor as typeof Map | typeof Set;
  const { size } = object;
  const items = Array.from(object.keys(), (item) => (isPrimitive(item) ? item : FOLLOWED));
  const hasFields = everything ? fieldsCheck(value, keys, false) : null;
  const print = (name: string): string => `len(${name}) == ${size}`;
  const isSame = (now: unknown): now is typeof object =>
    now instanceof type &&
    now.constructor === type &&
    now.size === size &&
    hasFields?.(now) !== false;
  return new Guard(
    'LENGTH_CHECK',
    place,
    print,
    (now) => isSame(now) && changedItem(now.keys(), items) < 0,
    {
      explain: (now, name) => {
        if (!isSame(now)) return print(name);
        const list = object instanceof Map ? `list(${name}.keys())` : `list(${name})`;
        const at = changedItem(now.keys(), items);
        return items[at] === FOLLOWED
          ? `${list}[${at}] is no constant`
          : `${list}[${at}] == ${literal(items[at])}`;
      },
    },
  );
}

/** Attributes and their order. */
function fieldsGuard(found: Container, place: Place, everything: boolean): Guard {
  const { value, kind, source, keys } = found;
  const check = everything
    ? fieldsCheck(value, keys, kind !== 'tracked' && typeof value === 'object')
    : (now: unknown) =>
        Object(now) === now && sameKeys(followedKeys(now as object, kind, source, false), keys);
  const isRecord = kind === 'record';
  const prototype: unknown = Object.getPrototypeOf(value);
  // What is not for skipped calls is compared to put it into words.
  const hasLayout =
    everything &&
    kind === 'tracked' &&
    inheritsConstructor(value) &&
    !Object.keys(value).some(isIndex);
  const of = hasLayout ? layoutOf(value, keys) : null;
  const valueAt = (key: Key): unknown => (value as Readonly<Record<Key, unknown>>)[key];
  return new Guard(
    'DICT_KEYS',
    place,
    (name) => {
      const names = keys.map((key) => (typeof key === 'symbol' ? String(key) : `'${key}'`));
      return `list(${name}${isRecord ? '' : '.__dict__'}.keys()) == [${names.join(', ')}]`;
    },
    isRecord ? (now) => Object.getPrototypeOf(Object(now)) === prototype && check(now) : check,
    of === null ? {} : { layout: { of, values: of.primitives.map(valueAt) } },
  );
}
