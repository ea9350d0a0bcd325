/**
 * @file Which values are containers: arrays, plain records, Maps and registered classes.
 *
 * Everything else (tensors, numbers, strings, null, functions, other class instances) is a leaf.
 */
import { TesseraError } from '../errors.js';

/** How instances of a registered class are taken apart and put together. */
export interface PytreeNodeDefinition<T = unknown, C = unknown> {
  /** The class name, for printing. */
  readonly name: string;
  flatten(value: T): { readonly children: readonly unknown[]; readonly context: C };
  unflatten(children: readonly unknown[], context: C): T;
  contextEqual?(a: C, b: C): boolean;
  accessor?(context: C, index: number): string;
}

/** What {@link registerPytreeNode} needs to know about a class. */
export interface PytreeNodeOptions<T, C> {
  /** Splits an instance into its children and whatever else is needed to rebuild it. */
  flatten(value: T): { children: readonly unknown[]; context: C };
  /** Rebuilds an instance from children in the order of `flatten`. */
  unflatten(children: readonly unknown[], context: C): T;
  /** Whether two contexts describe the same structure; by default they are compared by value. */
  contextEqual?(a: C, b: C): boolean;
  /** The accessor of a child for paths, such as `.weight`; `[index]` by default. */
  accessor?(context: C, index: number): string;
}

// A definition is only ever applied to values and contexts of its own class.
const definitions = new Map<unknown, PytreeNodeDefinition>();

const BUILT_IN: ReadonlySet<unknown> = new Set([Object, Array, Map]);

/**
 * Makes instances of exactly this class (not of its subclasses) containers.
 *
 * Registering a class again replaces its definition.
 *
 * @see torch.utils._pytree.register_pytree_node
 * @throws invalid-argument for classes that are containers by themselves, as `Array` and `Map`
 */
export function registerPytreeNode<T extends object, C>(
  type: abstract new (...args: never[]) => T,
  options: PytreeNodeOptions<T, C>,
): void {
  if (BUILT_IN.has(type)) {
    throw new TesseraError('invalid-argument', `${type.name} is already a pytree container.`, {
      hints: ['Register a class of your own.'],
    });
  }
  const definition: PytreeNodeDefinition<T, C> = {
    name: type.name,
    flatten: (value) => options.flatten(value),
    unflatten: (children, context) => options.unflatten(children, context),
    contextEqual: options.contextEqual && ((a, b) => options.contextEqual!(a, b)),
    accessor: options.accessor && ((context, index) => options.accessor!(context, index)),
  };
  definitions.set(type.prototype, definition);
}

/** How to take a value apart; undefined for leaves. */
export type ContainerKind = 'array' | 'record' | 'map' | PytreeNodeDefinition | undefined;

/** Classifies a value. */
export function containerKind(value: unknown): ContainerKind {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return 'array';
  const prototype: object | null = Object.getPrototypeOf(value);
  // The second test accepts plain objects of another realm (iframe, vm context).
  if (prototype === null || prototype === Object.prototype) return 'record';
  const definition = definitions.get(prototype);
  if (definition !== undefined) return definition;
  if (prototype === Map.prototype) return 'map';
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'constructor')
    ? 'record'
    : undefined;
}
