/**
 * @file `Guard`: one condition on a value that is found at a path, and how each kind of value is guarded.
 */
import { type Key, type Source, printKey, printSource } from '@tessera/graph';
import { isTensor } from '@tessera/tensor';
import { changedElement, changedItem, itemsToCompare } from './data-check.js';
import { FieldsCheck } from './fields-check.js';
import { isIndex } from './followed-keys.js';
import { literal, noTensor, typeName } from './guard-words.js';
import { type Layout, layoutOf } from './layout.js';
import { PrototypeCheck } from './prototypes.js';
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
  | 'NO_TENSOR_ALIASING'
  | 'SHAPE_ENV';

/** One guard: where, what, and its printed condition. */
export interface Guard {
  readonly kind: GuardKind;
  readonly source: Source;
  /** Index of the root it is read from. */
  readonly root: number;
  /** The printed condition, which is also the reason when it fails (tensors explain themselves). */
  readonly text: string;
  /** Whether it asks for the same function, or object that is not seen through. */
  readonly opaque?: boolean;
  /** The expected value of a CONSTANT_MATCH. */
  readonly value?: unknown;
  /** Where the same object must be found, of the same root; `check` is given what is there. */
  readonly other?: Source;
  /** What generated code compares instead of calling `check`, where that is the same. */
  readonly inline?: InlineCheck;
  /** The guard whose layout says the same, if that holds. */
  readonly within?: Guard;
  /** Whether the value is as it was. */
  check(value: unknown, other?: unknown): boolean;
  /** Words for a failure, if they differ from `text`. */
  explain?(value: unknown): string;
}

/** A check that is one comparison, or one call. */
export type InlineCheck =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'type'; readonly type: unknown }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'layout'; readonly layout: Layout; readonly expected: readonly unknown[] }
  | { readonly kind: 'tensor'; readonly spec: TensorGuard };

/** Whether guards are for code that does not run again: `everything` as for `walk`. */
export interface Place {
  readonly root: number;
  readonly everything: boolean;
}

/** A number, string, boolean or nothing; `holder` guards the attributes of what has it. */
export function constantGuard(root: number, source: Source, value: unknown, holder?: Guard): Guard {
  const name = printSource(source);
  const none = value === null || value === undefined;
  return {
    kind: none ? 'ID_MATCH' : 'CONSTANT_MATCH',
    root,
    source,
    text: none ? `${name} is None` : `${name} == ${literal(value)}`,
    value,
    ...(isInLayout(holder, source) ? { within: holder } : {}),
    inline: { kind: 'value', value },
    check: (now) => Object.is(now, value),
  };
}

function isInLayout(holder: Guard | undefined, source: Source): boolean {
  const step = source.steps.at(-1);
  return (
    holder?.inline?.kind === 'layout' &&
    step?.kind === 'property' &&
    holder.inline.layout.primitives.includes(step.key as string)
  );
}

/** A function, or an object that is not seen through. */
export function opaqueGuard(root: number, source: Source, value: unknown): Guard {
  return {
    kind: 'ID_MATCH',
    root,
    source,
    text: `${printSource(source)} is the same ${typeName(value)}`,
    opaque: true,
    check: sameOpaque(value),
  };
}

/** An object that was met at two places. */
export function sameObjectGuard(root: number, source: Source, first: Source): Guard {
  return {
    kind: 'DUPLICATE_INPUT',
    root,
    source,
    other: first,
    text: `${printSource(first)} is ${printSource(source)}`,
    check: (now, other) => now === other,
  };
}

/** The elements of a long array of primitives. */
export function dataGuard(root: number, source: Source, array: readonly unknown[]): Guard {
  const name = printSource(source);
  const before = [...array];
  const changed = (now: unknown): number => (Array.isArray(now) ? changedElement(now, before) : 0);
  return {
    kind: 'CONSTANT_MATCH',
    root,
    source,
    text: `${name} == [${before.slice(0, 3).map(literal).join(', ')}, …]`,
    value: before,
    check: (now) => changed(now) < 0,
    explain: (now) => {
      const at = changed(now);
      return `${name}[${at}] == ${literal(before[at])}`;
    },
  };
}

/** What an object inherits. */
export function prototypeGuard(
  root: number,
  source: Source,
  prototype: object,
  exact: boolean,
): Guard {
  const name = printSource(source);
  const check = new PrototypeCheck(prototype, exact);
  return {
    kind: 'TYPE_MATCH',
    root,
    source,
    text: `${name} is as it was`,
    check: () => check.difference() === null,
    explain: () => {
      const difference = check.difference();
      if (difference === null) return `${name} is as it was`;
      const { key, had, value } = difference;
      if (!had)
        return `not hasattr(${name}, ${typeof key === 'string' ? `'${key}'` : String(key)})`;
      const place = `${name}${printKey(key)}`;
      return typeof value === 'object' || typeof value === 'function'
        ? `${place} is the same ${typeName(value)}`
        : `${place} == ${literal(value)}`;
    },
  };
}

/** That a value is a tensor, whichever. */
export function isTensorGuard(root: number, source: Source): Guard {
  const name = printSource(source);
  return {
    kind: 'TYPE_MATCH',
    root,
    source,
    text: `type(${name}) is Tensor`,
    check: isTensor,
    explain: (now) => noTensor(now, name),
  };
}

/** A tensor with its metadata; what is symbolic holds for any size. */
export function tensorGuard(root: number, source: Source, guard: TensorGuard): Guard {
  const name = printSource(source);
  const { isSymbolic } = guard;
  return {
    kind: 'TENSOR_MATCH',
    root,
    source,
    text: `${name}: ${guard.toString()}`,
    ...(isSymbolic ? {} : { inline: { kind: 'tensor', spec: guard } as const }),
    check: (now) =>
      isTensor(now) && (isSymbolic ? guard.explain(now, name) === null : guard.check(now)),
    explain: (now) => (isTensor(now) ? (guard.explain(now, name) ?? '') : noTensor(now, name)),
  };
}

/** A container: what it is, how much it holds and which attributes it has. */
export function containerGuards(found: Container, place: Place): Guard[] {
  switch (found.kind) {
    case 'array':
      return [arrayGuard(found, place)];
    case 'map':
    case 'set':
      return [itemsGuard(found, place)];
    case 'record':
    case 'opaque':
      return [fieldsGuard(found, place)];
    default: {
      const fields = fieldsGuard(found, place);
      return [typeGuard(found, place, fields), fields];
    }
  }
}

/** Whether an object gets its constructor from the class that it is of. */
function inheritsConstructor(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return (
    !Object.hasOwn(object, 'constructor') &&
    typeof prototype === 'object' &&
    prototype !== null &&
    Object.hasOwn(prototype, 'constructor')
  );
}

function typeGuard({ value, source }: Container, { root }: Place, fields: Guard): Guard {
  const prototype: unknown = Object.getPrototypeOf(value);
  const type = value.constructor;
  const byConstructor = inheritsConstructor(value);
  return {
    kind: 'TYPE_MATCH',
    root,
    source,
    text: `type(${printSource(source)}) is ${type?.name ?? 'object'}`,
    ...(byConstructor ? { inline: { kind: 'type', type } as const } : {}),
    ...(fields.inline?.kind === 'layout' ? { within: fields } : {}),
    check: (now) =>
      typeof now === 'object' &&
      now !== null &&
      (byConstructor ? now.constructor === type : Object.getPrototypeOf(now) === prototype),
  };
}

function arrayGuard({ value, source, keys }: Container, { root, everything }: Place): Guard {
  const { length } = value as readonly unknown[];
  const type = value.constructor;
  const count = Object.values(value).length;
  return {
    kind: 'LENGTH_CHECK',
    root,
    source,
    text: `len(${printSource(source)}) == ${length}`,
    ...(everything ? {} : { inline: { kind: 'length', length } as const }),
    check: (now) =>
      Array.isArray(now) &&
      now.length === length &&
      (!everything ||
        (now.constructor === type &&
          // Holes, and attributes besides the elements.
          Object.values(now).length === count &&
          keys.every((key) => Object.hasOwn(now, key)))),
  };
}

function itemsGuard({ value, source, keys }: Container, { root, everything }: Place): Guard {
  const object = value as ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;
  const name = printSource(source);
  const list = object instanceof Map ? `list(${name}.keys())` : `list(${name})`;
  const type = value.constructor as typeof Map | typeof Set;
  const { size } = object;
  const items = itemsToCompare(object);
  const fields = everything ? new FieldsCheck(value, keys, false, null) : null;
  const text = `len(${name}) == ${size}`;
  const isSame = (now: unknown): now is typeof object =>
    now instanceof type &&
    now.constructor === type &&
    now.size === size &&
    fields?.check(now) !== false;
  return {
    kind: 'LENGTH_CHECK',
    root,
    source,
    text,
    check: (now) => isSame(now) && (size === 0 || changedItem(now, items) < 0),
    explain: (now) => {
      if (!isSame(now)) return text;
      const at = changedItem(now, items);
      return typeof items[at] === 'symbol'
        ? `${list}[${at}] is no constant`
        : `${list}[${at}] == ${literal(items[at])}`;
    },
  };
}

/** Whether a layout says all about an object's class and names. */
function hasLayout(object: object): boolean {
  return inheritsConstructor(object) && !Object.keys(object).some(isIndex);
}

/** Attributes and their order. */
function fieldsGuard(found: Container, { root, everything }: Place): Guard {
  const { value, kind, source, keys } = found;
  const followed = (now: object): readonly Key[] => followedKeys(now, kind, source, everything);
  const exact = kind !== 'tracked' && typeof value === 'object';
  const check = new FieldsCheck(value, keys, exact, everything ? null : followed);
  const record = kind === 'record';
  const layout = kind === 'tracked' && hasLayout(value) ? layoutOf(value, keys) : null;
  const expected = layout?.primitives.map((key) => (value as Record<string, unknown>)[key]) ?? [];
  const prototype: unknown = Object.getPrototypeOf(value);
  const name = printSource(source);
  const names = keys.map((key) => (typeof key === 'symbol' ? String(key) : `'${key}'`)).join(', ');
  return {
    kind: 'DICT_KEYS',
    root,
    source,
    text: `list(${name}${record ? '' : '.__dict__'}.keys()) == [${names}]`,
    ...(layout === null ? {} : { inline: { kind: 'layout', layout, expected } as const }),
    check: record
      ? (now) => Object.getPrototypeOf(Object(now)) === prototype && check.check(now)
      : (now) => check.check(now),
  };
}
