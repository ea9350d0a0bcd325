/**
 * @file Dead code elimination, and what may be removed at all.
 */
import type { OpOverload } from '@tessera/tensor';
import type { Graph } from '../ir/graph.js';
import { isPureHostFunction } from '../ir/host-functions.js';
import type { Node } from '../ir/node.js';

/** Whether an operator only computes its results: it writes nothing, advances no generator, has no effects. */
export function isPureOp(op: OpOverload): boolean {
  return !op.isMutable && !op.hasTag('random') && !op.hasTag('effect');
}

/** Whether a node must stay although nobody uses its value. */
export function isImpure(node: Node): boolean {
  switch (node.op) {
    case 'placeholder':
    case 'output':
    case 'call_module':
      return true;
    case 'get_attr':
      return false;
    case 'call_function':
      if (typeof node.target === 'object') return !isPureOp(node.target);
      return typeof node.target !== 'function' || !isPureHostFunction(node.target);
  }
}

/** Removes nodes without users, last first; returns how many. Placeholders and effects stay. */
export function eliminateDeadCode(graph: Graph, keep: (node: Node) => boolean = isImpure): number {
  let removed = 0;
  for (const node of graph.nodes.reverse()) {
    if (node.users.size > 0 || keep(node)) continue;
    graph.eraseNode(node);
    removed++;
  }
  return removed;
}
