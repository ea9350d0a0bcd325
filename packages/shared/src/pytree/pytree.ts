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
import type { PytreeNodeDefinition } from './node-registry.js';
import { LEAF_SPEC, childAccessor } from './tree-spec.js';
import type { ContainerSpec, TreeSpec } from './tree-spec.js';

/** Says whether a value is to be treated as a leaf although it is a container. */
export type IsLeaf = (value: unknown) => boolean;

/** A flattened value. */
export interface Flattened<L = unknown> {
  readonly leaves: L[];
  readonly spec: TreeSpec;
}

interface OpenContainer {
  readonly value: object;
  /** The spec without its children. */
  readonly kind: 'array' | 'record' | 'map' | PytreeNodeDefinition;
  readonly keys: readonly unknown[];
  readonly context: unknown;
  readonly items: readonly unknown[];
  readonly children: TreeSpec[];
  readonly firstLeaf: number;
}

/**
 * Splits a nested value into its leaves and its structure.
 *
 * @throws pytree-cycle when a container contains itself.
 */
export function treeFlatten(value: unknown, isLeaf?: IsLeaf): Flattened {
  const leaves: unknown[] = [];
  const open: OpenContainer[] = [];
  const openValues = new Set<object>();
  let current = value;
  for (;;) {
    const kind = isLeaf?.(current) === true ? undefined : containerKind(current);
    let done: TreeSpec | undefined;
    if (kind === undefined) {
      leaves.push(current);
      done = LEAF_SPEC;
    } else {
      if (openValues.has(current as object)) throw cycleError(open);
      openValues.add(current as object);
      open.push(openContainer(current as object, kind, leaves.length));
    }
    // Hand finished specs to their parents until one has a child left to visit.
    for (;;) {
      const top = open.at(-1);
      if (top === undefined) return { leaves, spec: done as TreeSpec };
      if (done !== undefined) top.children.push(done);
      if (top.children.length < top.items.length) {
        current = top.items[top.children.length];
        break;
      }
      done = closeContainer(top, leaves.length);
      openValues.delete(top.value);
      open.pop();
    }
  }
}

function openContainer(
  value: object,
  kind: OpenContainer['kind'],
  firstLeaf: number,
): OpenContainer {
  const children: TreeSpec[] = [];
  if (kind === 'array') {
    const items = value as readonly unknown[];
    return { value, kind, keys: [], context: undefined, items, children, firstLeaf };
  }
  if (kind === 'record') {
    const keys = Object.keys(value);
    const items = keys.map((key) => (value as Record<string, unknown>)[key]);
    return { value, kind, keys, context: undefined, items, children, firstLeaf };
  }
  if (kind === 'map') {
    const map = value as ReadonlyMap<unknown, unknown>;
    return {
      value,
      kind,
      keys: [...map.keys()],
      context: undefined,
      items: [...map.values()],
      children,
      firstLeaf,
    };
  }
  const { children: items, context } = kind.flatten(value as never);
  return { value, kind, keys: [], context, items, children, firstLeaf };
}

function closeContainer(container: OpenContainer, leafCount: number): TreeSpec {
  const { kind, keys, children } = container;
  const numLeaves = leafCount - container.firstLeaf;
  if (kind === 'array') return { kind, children, numLeaves };
  if (kind === 'record') return { kind, keys: keys as readonly string[], children, numLeaves };
  if (kind === 'map') return { kind, keys, children, numLeaves };
  return { kind: 'class', definition: kind, context: container.context, children, numLeaves };
}

function cycleError(open: readonly OpenContainer[]): TesseraError {
  const path = open
    .map((container) =>
      childAccessor(closeContainer(container, 0) as ContainerSpec, container.children.length),
    )
    .join('');
  return new TesseraError('pytree-cycle', `The nested value contains itself at ${path}.`, {
    context: { path },
    hints: ['Pass the parts that are needed instead of an object graph with back references.'],
  });
}

/**
 * Rebuilds a nested value from its leaves.
 *
 * @throws pytree-mismatch when the number of leaves does not fit the structure.
 */
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
      return spec.definition.unflatten(values, spec.context as never);
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
