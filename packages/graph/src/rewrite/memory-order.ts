/**
 * @file What must stay before a node besides the values that it uses: earlier reads and writes of memory that it
 * writes, the last write of memory that it reads, and the last draw from the random generator.
 */
import { AliasSets, writtenInputs } from './alias-sets.js';
import { isImpure } from './dead-code.js';
import type { Graph } from '../ir/graph.js';
import type { Node } from '../ir/node.js';

/** Last uses of some memory. */
interface Uses {
  writer: Node | null;
  /** Since the last write. */
  readers: Node[];
}

/** Stands for what is no memory of a value: the random generator, and the effects of unknown code. */
const OUTSIDE = Symbol('outside');

/**
 * Per node, the nodes before it that it must not overtake.
 *
 * @param takesPart which nodes are ordered (default all); others are neither uses of memory nor in the result
 */
export function memoryOrder(
  graph: Graph,
  takesPart: (node: Node) => boolean = () => true,
): Map<Node, ReadonlySet<Node>> {
  const aliases = new AliasSets(graph);
  const uses = new Map<unknown, Uses>();
  const order = new Map<Node, ReadonlySet<Node>>();
  for (const node of graph.nodes) {
    if (!takesPart(node)) continue;
    const before = new Set<Node>();
    const usesOf = (memory: unknown): Uses => {
      let found = uses.get(memory);
      if (found === undefined) uses.set(memory, (found = { writer: null, readers: [] }));
      if (found.writer !== null) before.add(found.writer);
      return found;
    };
    const written = new Set<unknown>(writtenInputs(node).map((input) => aliases.root(input)));
    if (reachesOutside(node)) written.add(OUTSIDE);
    for (const input of node.allInputNodes()) {
      const memory = aliases.root(input);
      if (!written.has(memory)) usesOf(memory).readers.push(node);
    }
    for (const memory of written) {
      for (const reader of usesOf(memory).readers) before.add(reader);
      uses.set(memory, { writer: node, readers: [] });
    }
    order.set(node, before);
  }
  return order;
}

function reachesOutside(node: Node): boolean {
  if (node.op !== 'call_function' && node.op !== 'call_module') return false;
  const { target } = node;
  if (typeof target !== 'object') return isImpure(node);
  return target.hasTag('random') || (target.hasTag('effect') && !target.hasTag('waits'));
}
