/**
 * @file Whether somebody reads a value by its place in memory: `as_strided` counts from the start of the
 * memory, so what it reads changes when the value moves.
 */
import type { Node } from '@tessera/graph';

/** Whether the value, or a view of it, is read by address. */
export function isAddressed(value: Node): boolean {
  const stack = [value];
  const seen = new Set<Node>();
  while (stack.length > 0) {
    const node = stack.pop()!;
    for (const user of node.users.keys()) {
      if (seen.has(user)) continue;
      seen.add(user);
      const { target } = user;
      if (typeof target === 'object' && target.schema.name.startsWith('as_strided')) return true;
      if (user.op === 'call_function' && (typeof target !== 'object' || target.isView))
        stack.push(user);
    }
  }
  return false;
}
