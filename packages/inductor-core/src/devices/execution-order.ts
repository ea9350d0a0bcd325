/**
 * @file What must run before what, beyond the values that nodes pass to each other.
 *
 * Nodes of one subgraph keep their order, but subgraphs of different devices are taken out of theirs. Three
 * things may not change by that: a write comes after the reads before it, and before the reads after it; random
 * operators draw in the order of the program; effects happen in it.
 */
import type { Graph, Node } from '@tessera/graph';
import { AliasSets, writtenInputs } from '@tessera/passes';
import { isFree } from './free-node.js';

/** For each node, nodes that must run before it. Views and items count as uses of what they show. */
export function orderedBefore(graph: Graph): Map<Node, ReadonlySet<Node>> {
  const aliases = new AliasSets(graph);
  const before = new Map<Node, Set<Node>>();
  const writer = new Map<Node, Node>();
  const readers = new Map<Node, Node[]>();
  let effect: Node | null = null;
  for (const node of graph.nodes) {
    if (node.op !== 'call_function' || isFree(node)) continue;
    const earlier = new Set<Node>();
    before.set(node, earlier);
    const written = new Set(writtenInputs(node).map((input) => aliases.root(input)));
    for (const input of node.allInputNodes()) {
      const memory = aliases.root(input);
      const last = writer.get(memory);
      if (last !== undefined) earlier.add(last);
      if (written.has(memory)) for (const reader of readers.get(memory) ?? []) earlier.add(reader);
    }
    for (const input of node.allInputNodes()) {
      const memory = aliases.root(input);
      if (written.has(memory)) {
        writer.set(memory, node);
        readers.set(memory, []);
      } else if (readers.has(memory)) readers.get(memory)!.push(node);
      else readers.set(memory, [node]);
    }
    if (hasEffect(node)) {
      if (effect !== null) earlier.add(effect);
      effect = node;
    }
    earlier.delete(node);
  }
  return before;
}

function hasEffect({ target }: Node): boolean {
  return (
    typeof target === 'object' &&
    (target.hasTag('random') || (target.hasTag('effect') && !target.hasTag('waits')))
  );
}
