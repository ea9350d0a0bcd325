/**
 * @file `TreeSpec`: the structure of a nested value without its leaves.
 *
 * A spec is plain data (apart from Map keys and the contexts of registered classes), so it can be
 * kept, compared and printed. Equality means the leaves of two values correspond one to one in
 * order: therefore records must have the same keys in the same order. Modelled on
 * `torch.utils._pytree.TreeSpec`.
 */
import type { PytreeNodeDefinition } from './node-registry.js';

/** What is said of a container of each kind. */
export type ContainerShape =
  | { readonly kind: 'array' }
  | { readonly kind: 'record'; readonly keys: readonly string[] }
  | { readonly kind: 'map'; readonly keys: readonly unknown[] }
  | {
      readonly kind: 'class';
      readonly definition: PytreeNodeDefinition;
      readonly context: unknown;
    };

/** Structure of a container. */
export type ContainerSpec = ContainerShape & {
  readonly children: readonly TreeSpec[];
  readonly numLeaves: number;
};

/** Structure of a nested value. */
export type TreeSpec = { readonly kind: 'leaf'; readonly numLeaves: 1 } | ContainerSpec;

declare const flattened: unique symbol;

/** Structure of a value of type `T`, which is for the type checker only. */
export type TreeSpecOf<T> = TreeSpec & { readonly [flattened]?: T };

/** The spec of a single leaf. */
export const LEAF_SPEC: TreeSpec = { kind: 'leaf', numLeaves: 1 };

/** The accessor of one child, as it is appended to the accessor of its parent: `[0]`, `.weight`. */
export function childAccessor(spec: ContainerSpec, index: number): string {
  switch (spec.kind) {
    case 'array':
      return `[${index}]`;
    case 'record': {
      const key = spec.keys[index];
      return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    }
    case 'map': {
      const key = spec.keys[index];
      return `.get(${typeof key === 'string' ? JSON.stringify(key) : String(key)})`;
    }
    case 'class':
      return spec.definition.accessor?.(spec.context, index) ?? `[${index}]`;
  }
}
