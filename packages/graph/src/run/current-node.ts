/**
 * @file The node that an Interpreter is running, for whoever traces the run.
 *
 * Re-tracing a graph (decomposition, joint graph) must carry over what is known about each node's
 * origin: source line, module, captured op. The interpreter publishes the node here and `makeFx` copies
 * its origin to the nodes it records meanwhile.
 */
import type { Node } from '../ir/node.js';

let current: Node | null = null;

/** The node being interpreted, or null. */
export function currentNode(): Node | null {
  return current;
}

/** Runs `fn` with `node` as the current node. */
export function withCurrentNode<R>(node: Node | null, fn: () => R): R {
  const saved = current;
  current = node;
  try {
    return fn();
  } finally {
    current = saved;
  }
}
