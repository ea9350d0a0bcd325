/**
 * @file What must run before what, beyond the values that nodes pass to each other: nodes of one subgraph keep their order,
 * but subgraphs of different devices are taken out of theirs.
 */
import { type Graph, type Node, memoryOrder } from '@tessera/graph';
import { isFree } from './free-node.js';

/** For each node, nodes that must run before it. Views and items count as uses of what they show. */
export function orderedBefore(graph: Graph): Map<Node, ReadonlySet<Node>> {
  return memoryOrder(graph, (node) => node.op === 'call_function' && !isFree(node));
}
