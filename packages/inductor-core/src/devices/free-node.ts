/**
 * @file Nodes that compute nothing: views, and items of lists of views. Every subgraph that reads one has its own.
 */
import { Node, getItem } from '@tessera/graph';

/** See the file header. */
export function isFree(node: Node): boolean {
  if (node.op !== 'call_function') return false;
  const { target } = node;
  if (target !== getItem) return typeof target === 'object' && target.isView;
  const list = node.args[0];
  return list instanceof Node && isFree(list);
}
