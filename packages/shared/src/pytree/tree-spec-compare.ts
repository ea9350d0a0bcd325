/**
 * @file Comparing the structure of nested values, and naming their leaves.
 */
import { treeFlatten } from './pytree.js';
import { childAccessor } from './tree-spec.js';
import type { ContainerSpec, TreeSpec } from './tree-spec.js';

/** True when the leaves of the two structures correspond one to one, in order. */
export function treeSpecEqual(a: TreeSpec, b: TreeSpec): boolean {
  return treeSpecDifference(a, b) === undefined;
}

/** The first difference of two structures in words, with its path; undefined when they are equal. */
export function treeSpecDifference(expected: TreeSpec, got: TreeSpec): string | undefined {
  const pending: { a: TreeSpec; b: TreeSpec; path: string }[] = [{ a: expected, b: got, path: '' }];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const { a, b, path } = pair;
    if (a === b) continue;
    const at = path === '' ? 'at the top' : `at ${path}`;
    if (a.kind === 'leaf' || b.kind === 'leaf' || a.kind !== b.kind) {
      if (a.kind === b.kind) continue;
      return `expected ${describeNode(a)} ${at}, got ${describeNode(b)}`;
    }
    const difference = containerDifference(a, b);
    if (difference !== undefined) return `${difference} ${at}`;
    for (let i = a.children.length - 1; i >= 0; i--) {
      pending.push({ a: a.children[i], b: b.children[i], path: path + childAccessor(a, i) });
    }
  }
  return undefined;
}

function containerDifference(a: ContainerSpec, b: ContainerSpec): string | undefined {
  const expected = describeNode(a);
  const got = describeNode(b);
  if (a.kind === 'class' && b.kind === 'class') {
    if (a.definition !== b.definition) return `expected ${expected}, got ${got}`;
    if (!contextsEqual(a, b)) return `expected the same ${a.definition.name} context`;
  }
  if ((a.kind === 'record' || a.kind === 'map') && (b.kind === 'record' || b.kind === 'map')) {
    const same =
      a.keys.length === b.keys.length && a.keys.every((key, i) => Object.is(key, b.keys[i]));
    if (!same) return `expected ${expected}, got ${got}`;
  }
  return a.children.length === b.children.length ? undefined : `expected ${expected}, got ${got}`;
}

function contextsEqual(
  a: Extract<TreeSpec, { kind: 'class' }>,
  b: Extract<TreeSpec, { kind: 'class' }>,
): boolean {
  const { definition } = a;
  if (definition.contextEqual !== undefined) return definition.contextEqual(a.context, b.context);
  if (Object.is(a.context, b.context)) return true;
  const left = treeFlatten(a.context);
  const right = treeFlatten(b.context);
  return (
    treeSpecEqual(left.spec, right.spec) &&
    left.leaves.every((leaf, i) => Object.is(leaf, right.leaves[i]))
  );
}

function describeNode(spec: TreeSpec): string {
  switch (spec.kind) {
    case 'leaf':
      return 'a leaf';
    case 'array':
      return `an array of length ${spec.children.length}`;
    case 'record':
      return `a record with keys {${spec.keys.join(', ')}}`;
    case 'map':
      return `a Map with keys {${spec.keys.map(String).join(', ')}}`;
    case 'class':
      return `a ${spec.definition.name} with ${spec.children.length} children`;
  }
}

/** The accessor of every leaf, in order: `[0].weight`, `["a b"]`, `.get("x")`. */
export function treePaths(spec: TreeSpec): string[] {
  const paths: string[] = [];
  const pending: { spec: TreeSpec; path: string }[] = [{ spec, path: '' }];
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    if (item.spec.kind === 'leaf') {
      paths.push(item.path);
      continue;
    }
    for (let i = item.spec.children.length - 1; i >= 0; i--) {
      pending.push({ spec: item.spec.children[i], path: item.path + childAccessor(item.spec, i) });
    }
  }
  return paths;
}
