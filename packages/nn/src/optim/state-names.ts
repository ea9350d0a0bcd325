/**
 * @file Names in state dicts: PyTorch's as ours, and flat ones with dots as trees.
 */
import { isTensor } from '@tessera/tensor';

/** Values by name, or trees of them. */
export type Tree = { [name: string]: unknown };

/** Whether a value is a record or an array. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !isTensor(value);
}

/** A tree from names with dots, which may be those of a stranger's file: no name is one of `Object.prototype`. */
export function nested(flat: Tree): Tree {
  const empty = (): Tree => Object.create(null);
  const root = empty();
  for (const [name, value] of Object.entries(flat)) {
    const path = name.split('.');
    const last = path.pop()!;
    let at = root;
    for (const part of path) {
      const inner = at[part];
      at = isTree(inner) ? inner : (at[part] = empty());
    }
    at[last] = value;
  }
  return root;
}

/** `weight_decay` → `weightDecay`; of PyTorch's names. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
