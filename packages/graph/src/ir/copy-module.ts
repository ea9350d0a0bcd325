/**
 * @file `copyModule`: a GraphModule of its own with the same nodes and attributes.
 */
import { GraphModule } from './graph-module.js';
import { Graph } from './graph.js';
import type { Node } from './node.js';

/** Copies graph and attribute table; tensors, submodules and recorded values are shared. */
export function copyModule(module: GraphModule): GraphModule {
  const graph = new Graph();
  graph.symbols = module.graph.symbols;
  const copies = new Map<Node, Node>();
  for (const node of module.graph.nodes)
    copies.set(
      node,
      graph.nodeCopy(node, (input) => copies.get(input)!),
    );
  return new GraphModule(module.attributes, graph);
}
