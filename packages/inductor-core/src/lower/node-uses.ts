/**
 * @file How the value of a graph's node is used: from this follows whether it gets memory.
 */
import type { Node } from '@tessera/graph';

/** Levels of views through which `usesOf` looks. */
const VIEW_LEVELS = 6;

/** How a value is used, directly and through views. */
export interface Uses {
  readonly count: number;
  /** Some use gives it memory anyway: a product, a convolution or the output. */
  readonly needMemory: boolean;
}

/** The uses of a node's value. */
export function usesOf(node: Node): Uses {
  let count = 0;
  let needMemory = false;
  let level: Node[] = [node];
  for (let depth = 0; depth <= VIEW_LEVELS && level.length > 0; depth++) {
    const next: Node[] = [];
    for (const value of level) {
      for (const user of value.users.keys()) {
        const op =
          user.op === 'call_function' && typeof user.target === 'object' ? user.target : null;
        if (op?.isView === true && depth < VIEW_LEVELS) {
          next.push(user);
          continue;
        }
        count++;
        if (user.op === 'output' || op?.hasTag('compute-intensive') === true) needMemory = true;
      }
    }
    level = next;
  }
  return { count, needMemory };
}
