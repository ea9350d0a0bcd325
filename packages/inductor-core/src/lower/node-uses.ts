/**
 * @file How the value of a graph's node is used: from this follows whether it gets memory.
 */
import type { Node } from '@tessera/graph';
import type { OpOverload } from '@tessera/tensor';

/** Levels of views through which `usesOf` looks. */
const VIEW_LEVELS = 6;

/** How a value is used, directly and through views. */
export interface Uses {
  readonly count: number;
  /** Some use gives it memory anyway: a product, a convolution or the output. */
  readonly needMemory: boolean;
  /** All uses put its elements elsewhere among zeros: a loop over other points, with no other operand. */
  readonly onlyPlace: boolean;
}

const PLACING: ReadonlySet<string | undefined> = new Set([
  'aten::slice_backward',
  'aten::select_backward',
  'aten::diagonal_backward',
  'aten::constant_pad_nd',
]);

/** The uses of a node's value. */
export function usesOf(node: Node): Uses {
  let count = 0;
  let needMemory = false;
  let onlyPlace = true;
  for (const [user] of usersOf(node)) {
    count++;
    const op = operatorOf(user);
    onlyPlace &&= PLACING.has(op?.qualifiedName);
    if (user.op === 'output' || op?.hasTag('compute-intensive') === true) needMemory = true;
  }
  return { count, needMemory, onlyPlace };
}

/** Nodes that use a node's value, and the view of it that each uses. */
export function usersOf(node: Node): (readonly [user: Node, value: Node])[] {
  const users: (readonly [Node, Node])[] = [];
  let level: Node[] = [node];
  for (let depth = 0; depth <= VIEW_LEVELS && level.length > 0; depth++) {
    const next: Node[] = [];
    for (const value of level)
      for (const user of value.users.keys())
        if (operatorOf(user)?.isView === true && depth < VIEW_LEVELS) next.push(user);
        else users.push([user, value]);
    level = next;
  }
  return users;
}

/** The operator that a node calls. */
export function operatorOf(node: Node): OpOverload | null {
  return node.op === 'call_function' && typeof node.target === 'object' ? node.target : null;
}
