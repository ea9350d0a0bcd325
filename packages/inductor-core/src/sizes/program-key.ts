/**
 * @file What tells the programs apart that one captured graph is made into: forward, backward, their parts.
 */
import type { GraphModule } from '@tessera/graph';

/** Graphs of one program, whatever their sizes, have the same key. @param name of the part */
export function programKey({ graph }: GraphModule, name: string): string {
  const names = [graph.nodes, graph.outputNode?.allInputNodes() ?? []].map((nodes) =>
    nodes.map((node) => node.name).join(),
  );
  return `${name};${names.join(';')}`;
}
