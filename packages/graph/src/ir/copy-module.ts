/**
 * @file `copyModule`: a GraphModule of its own with the same nodes and attributes.
 */
import { GraphModule } from './graph-module.js';
import { Graph } from './graph.js';

/** Copies graph and attribute table; tensors, submodules and recorded values are shared. */
export function copyModule<Result>(module: GraphModule<Result>): GraphModule<Result> {
  const graph = new Graph();
  graph.symbols = module.graph.symbols;
  graph.copyNodes(module.graph.nodes, new Map());
  return new GraphModule(module.attributes, graph);
}
