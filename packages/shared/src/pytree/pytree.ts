/**
 * @file Pytrees: flattening nested arguments into leaves, and back.
 *
 * Every layer that calls a graph with nested arguments (tracer, AOT, export) goes through here.
 * Leaves come in depth-first order, records in insertion order. All walks are iterative, and a
 * structure that contains itself is an error instead of an endless loop. Modelled on
 * `torch.utils._pytree`.
 */
import { TesseraError } from '../errors.js';
import { containerKind } from './node-registry.js';
import type { ContainerKind } from './node-registry.js';
import { LEAF_SPEC, childAccessor } from './tree-spec.js';
import type { ContainerShape, ContainerSpec, TreeSpec, TreeSpecOf } from './tree-spec.js';

/** Says whether a value is to be treated as a leaf although it is a container. */
export type IsLeaf = (value: unknown) => boolean;

/** A flattened value of type `T`. */
export interface Flattened<T = unknown> {
  readonly leaves: unknown[];
  readonly spec: TreeSpecOf<T>;
}

interface OpenContainer {
  readonly value: object;
  readonly items: readonly unknown[];
  /** `numLeaves` is minus the number of leaves before it, until it is closed. */
  readonly spec: ContainerShape & { readonly children: TreeSpec[]; numLeaves: number };
}

/**
 * Splits a nested value into its leaves and its structure.
 *
 * @throws pytree-cycle when a container contains itself.
 */
export function treeFlatten<T>(value: T, isLeaf?: IsLeaf): Flattened<T> {
  const leaves: unknown[] = [];
  const open: OpenContainer[] = [];
  const openValues = new Set<object>();
  let current: unknown = value;
  for (;;) {
    const kind = isLeaf?.(current) === true ? undefined : containerKind(current);
    let done: TreeSpec | undefined;
    if (kind === undefined) {
      leaves.push(current);
      done = LEAF_SPEC;
    } else {
      const container = openContainer(current as object, kind, leaves.length);
      if (openValues.has(container.value)) throw cycleError(open);
      openValues.add(container.value);
      open.push(container);
    }
    // Hand finished specs to their parents until one has a child left to visit.
    for (;;) {
      const top = open.at(-1);
      if (top === undefined) return { leaves, spec: done! };
      const { children } = top.spec;
      if (done !== undefined) children.push(done);
      if (children.length < top.items.length) {
        current = top.items[children.length];
        break;
      }
      top.spec.numLeaves += leaves.length;
      done = top.spec;
      openValues.delete(top.value);
      open.pop();
    }
  }
}

function openContainer(
  value: object,
  kind: NonNullable<ContainerKind>,
  before: number,
): OpenContainer {
  const children: TreeSpec[] = [];
  const numLeaves = -before;
  if (Array.isArray(value))
    return { value, items: value, spec: { kind: 'array', children, numLeaves } };
  if (typeof kind === 'object') {
    const { children: items, context } = kind.flatten(value);
    return {
      value,
      items,
      spec: { kind: 'class', definition: kind, context, children, numLeaves },
    };
  }
  if (value instanceof Map)
    return {
      value,
      items: [...value.values()],
      spec: { kind: 'map', keys: [...value.keys()], children, numLeaves },
    };
  return {
    value,
    items: Object.values(value),
    spec: { kind: 'record', keys: Object.keys(value), children, numLeaves },
  };
}

function cycleError(open: readonly OpenContainer[]): TesseraError {
  const path = open.map(({ spec }) => childAccessor(spec, spec.children.length)).join('');
  return new TesseraError('pytree-cycle', `The nested value contains itself at ${path}.`, {
    context: { path },
    hints: ['Pass the parts that are needed instead of an object graph with back references.'],
  });
}

/**
 * Rebuilds a nested value from its leaves. It is of the type that was flattened where they are of the types that were there.
 *
 * @throws pytree-mismatch when the number of leaves does not fit the structure.
 */
export function treeUnflatten<T>(leaves: readonly unknown[], spec: TreeSpecOf<T>): T;
export function treeUnflatten(leaves: readonly unknown[], spec: TreeSpec): unknown {
  if (leaves.length !== spec.numLeaves) {
    throw new TesseraError(
      'pytree-mismatch',
      `The structure has ${spec.numLeaves} leaves, but ${leaves.length} were given.`,
      {
        context: { expected: spec.numLeaves, got: leaves.length },
      },
    );
  }
  const open: { spec: ContainerSpec; values: unknown[] }[] = [];
  let nextLeaf = 0;
  let current = spec;
  for (;;) {
    let done = false;
    let value: unknown;
    if (current.kind === 'leaf') {
      value = leaves[nextLeaf++];
      done = true;
    } else {
      open.push({ spec: current, values: [] });
    }
    for (;;) {
      const top = open.at(-1);
      if (top === undefined) return value;
      if (done) top.values.push(value);
      if (top.values.length < top.spec.children.length) {
        current = top.spec.children[top.values.length];
        break;
      }
      value = buildContainer(top.spec, top.values);
      done = true;
      open.pop();
    }
  }
}

function buildContainer(spec: ContainerSpec, values: unknown[]): unknown {
  switch (spec.kind) {
    case 'array':
      return values;
    case 'record':
      // fromEntries defines properties, so a key named `__proto__` stays an ordinary key.
      return Object.fromEntries(spec.keys.map((key, i) => [key, values[i]]));
    case 'map':
      return new Map(spec.keys.map((key, i) => [key, values[i]]));
    case 'class':
      return spec.definition.unflatten(values, spec.context);
  }
}

/** The leaves of a nested value, in depth-first order. */
export function treeLeaves(value: unknown, isLeaf?: IsLeaf): unknown[] {
  return treeFlatten(value, isLeaf).leaves;
}

/** A value of the same structure with `fn` applied to every leaf. */
export function treeMap(fn: (leaf: unknown) => unknown, tree: unknown, isLeaf?: IsLeaf): unknown {
  const { leaves, spec } = treeFlatten(tree, isLeaf);
  return treeUnflatten(
    leaves.map((leaf) => fn(leaf)),
    spec,
  );
}
