/**
 * @file Nodes in an order in which each comes behind those that give its inputs.
 *
 * The format asks for it, yet onnxruntime runs files in any order, and converters write such (that to float16 puts
 * casts of inputs at the end).
 */
import type { GraphProto, NodeProto } from '../generated/onnx_pb.js';

/** Names that a node reads, those of graphs in its attributes included. */
function readsOf({ input, attribute }: NodeProto): string[] {
  const names = [...input];
  const graphs = (list: NodeProto['attribute']): GraphProto[] => list.flatMap(({ g }) => g ?? []);
  const open = graphs(attribute);
  for (let graph = open.pop(); graph !== undefined; graph = open.pop()) {
    names.push(...graph.output.map(({ name }) => name));
    for (const node of graph.node) {
      names.push(...node.input);
      open.push(...graphs(node.attribute));
    }
  }
  return names;
}

/** Nodes that are in order stay as they are; of a circle, one comes first. */
export function inOrder(nodes: readonly NodeProto[]): NodeProto[] {
  const givers = new Map<string, NodeProto>();
  for (const node of nodes)
    // Outputs and inputs that are left out have no name.
    for (const name of node.output) if (name !== '' && !givers.has(name)) givers.set(name, node);
  const ordered = new Set<NodeProto>();
  const seen = new Set<NodeProto>();
  for (const each of nodes) {
    const open = [each];
    for (let node = open.at(-1); node !== undefined; node = open.at(-1)) {
      const missing = seen.has(node) ? [] : readsOf(node).flatMap((name) => givers.get(name) ?? []);
      seen.add(node);
      const next = missing.filter((giver) => !seen.has(giver));
      if (next.length > 0) open.push(...next.reverse());
      else ordered.add(open.pop()!);
    }
  }
  return [...ordered];
}
