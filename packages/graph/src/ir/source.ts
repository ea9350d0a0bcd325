/**
 * @file Sources: where a value came from, as a path that can be printed and followed again.
 *
 * `L['x']`, `L['xs'][2]`, `L['cfg'].heads`, `L['self'].layers[0].weight`; `G['Sequential']…` stands for
 * an object that the function closes over.
 */
import { type Tensor } from '@tessera/tensor';
import { gradientOf } from '@tessera/tensor/internal';

/** A property's name, or its symbol. */
export type Key = string | symbol;

/** One step from a container to an element. */
export type SourceStep =
  /** `tracked`: of a tracked object, whose getters are not followed. */
  | { readonly kind: 'property'; readonly key: Key; readonly tracked?: boolean }
  /** What a getter that is no enumerable property gives. */
  | { readonly kind: 'getter'; readonly key: Key }
  | { readonly kind: 'index'; readonly index: number }
  /** Key of a Map, by position of insertion. */
  | { readonly kind: 'map'; readonly index: number; readonly key: unknown }
  /** Elements of a Set or keys of a Map, as an array. */
  | { readonly kind: 'items' }
  /** The prototype that an object has, or one above it. */
  | { readonly kind: 'type'; readonly depth: number }
  /** Result of the object's own `[trackedState]()`. */
  | { readonly kind: 'state' }
  /** `.grad` of a tensor. */
  | { readonly kind: 'grad' };

/** A root (argument number, capture name or owner object) and steps from it. */
export interface Source {
  /** Printed form of the root: `L['x']`. */
  readonly root: string;
  readonly steps: readonly SourceStep[];
}

/** A source some steps further. */
export function extend(source: Source, ...steps: readonly SourceStep[]): Source {
  return { root: source.root, steps: [...source.steps, ...steps] };
}

/** Printed form. */
export function printSource(source: Source): string {
  let text = source.root;
  for (const step of source.steps) {
    if (step.kind === 'index') text += `[${step.index}]`;
    else if (step.kind === 'items') text = `list(${text})`;
    else if (step.kind === 'type') text = `type(${text})${'.__base__'.repeat(step.depth)}`;
    else if (step.kind === 'map')
      text += `.get(${typeof step.key === 'string' ? `'${step.key}'` : String(step.key)})`;
    else if (step.kind === 'grad') text += '.grad';
    else if (step.kind === 'property' || step.kind === 'getter') text += printKey(step.key);
  }
  return text;
}

/** An attribute as it is printed: `.name`, `['0']`. */
export function printKey(key: Key): string {
  if (typeof key === 'symbol') return `[${String(key)}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `['${key}']`;
}

/** Follows steps from an object; undefined where the path no longer exists. */
export function follow(root: unknown, steps: readonly SourceStep[]): unknown {
  let value = root;
  for (const step of steps) value = readStep(value, step);
  return value;
}

/** What is one step further; undefined where the path no longer exists. */
export function readStep(value: unknown, step: SourceStep): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null)
    return undefined;
  switch (step.kind) {
    case 'property':
      // What has become a getter since, as a weight that is parametrized, would run code of the program.
      if (step.tracked === true && Object.getOwnPropertyDescriptor(value, step.key)?.get)
        return undefined;
      return (value as Record<Key, unknown>)[step.key];
    case 'getter':
      return readGetter(value, step.key);
    case 'index':
      return (value as readonly unknown[])[step.index];
    case 'items':
      return itemsOf(value);
    case 'type':
      return typeOf(value, step.depth);
    case 'map':
      return value instanceof Map ? value.get(step.key) : undefined;
    case 'grad':
      return gradientOf(value as Tensor);
    case 'state':
      return (value as Record<symbol, (() => unknown) | undefined>)[
        Symbol.for('tessera.trackedState')
      ]?.();
  }
}

/** What a getter gives; undefined where it throws. */
function readGetter(object: unknown, key: Key): unknown {
  try {
    return (object as Record<Key, unknown> | null | undefined)?.[key];
  } catch {
    return undefined;
  }
}

/** Elements of a Set or keys of a Map; undefined for anything else. */
function itemsOf(value: unknown): unknown[] | undefined {
  return value instanceof Set || value instanceof Map ? [...value.keys()] : undefined;
}

/** The prototype of an object, or the one `depth` above it. */
function typeOf(value: unknown, depth: number): unknown {
  let at: unknown = value;
  for (let i = 0; i <= depth && at !== null && at !== undefined; i++)
    at = Object.getPrototypeOf(at);
  return at;
}
