/**
 * @file When values of a graph die.
 */
import type { Node } from '../ir/node.js';

/** For each node, the values whose last use it is; a value without users dies where it is made. */
export function lastUses(nodes: readonly Node[]): Map<Node, Node[]> {
  const dying = new Map<Node, Node[]>();
  const seen = new Set<Node>();
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    const here = node.allInputNodes().filter((input) => !seen.has(input));
    if (!seen.has(node) && node.op !== 'output') here.push(node);
    for (const value of here) seen.add(value);
    if (here.length > 0) dying.set(node, here);
  }
  return dying;
}
