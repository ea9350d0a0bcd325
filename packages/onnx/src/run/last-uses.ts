/**
 * @file After which node each value of a graph is needed no more.
 */
import { type OnnxGraph, type OnnxNode, graphsOf } from '../model/model.js';

/** Names that a node reads, those that graphs in its attributes read included. */
function namesRead(node: OnnxNode, into: Set<string>): void {
  for (const input of node.inputs) into.add(input);
  for (const graph of graphsOf(node)) {
    for (const inner of graph.nodes) namesRead(inner, into);
    for (const { name } of graph.outputs) into.add(name);
  }
}

const cache = new WeakMap<OnnxGraph, readonly (readonly string[])[]>();

/** Per node, the names that nothing after it reads. */
export function lastUsesOf(graph: OnnxGraph): readonly (readonly string[])[] {
  const found = cache.get(graph);
  if (found !== undefined) return found;
  const needed = new Set(graph.outputs.map(({ name }) => name));
  const last: string[][] = [];
  for (let i = graph.nodes.length - 1; i >= 0; i--) {
    const node = graph.nodes[i]!;
    const used = new Set(node.outputs);
    namesRead(node, used);
    used.delete('');
    last[i] = [...used].filter((name) => !needed.has(name));
    for (const name of used) needed.add(name);
  }
  cache.set(graph, last);
  return last;
}
