/**
 * @file The cheapest set of values to save, as a minimum cut.
 *
 * Every value that backward may need is an edge as wide as its bytes. Values flow from the source (what
 * exists when backward starts only if it is saved: inputs, and what must not run again) to the sink
 * (what reads them in backward). A cut through the narrowest edges is what to save: behind it backward
 * can compute all it needs. Of several minimum cuts it takes the one nearest to backward, which computes
 * least again.
 *
 * @see Chen et al., "Training deep nets with sublinear memory cost", 2016; functorch's min-cut partitioner
 */
import type { Node } from '@tessera/graph';
import { FlowNetwork } from './max-flow.js';
import type { NodeRoles } from './node-roles.js';
import { isViewNode } from './partition.js';
import { fusesWith, recomputeKind } from './recompute-kind.js';
import { savedBytes } from './recompute-limits.js';

/** Bytes outweigh the tie-break between values that exist in memory anyway and values that do not. */
const TIE = 256;

/** Nodes to save. `kept` must not run again. */
export function cheapestToSave(roles: NodeRoles, kept: ReadonlySet<Node>): Set<Node> {
  const network = new FlowNetwork();
  const source = network.addVertex();
  const sink = network.addVertex();
  const early = roles.nodes.filter((node) => roles.forward.has(node) || roles.either.has(node));
  const entry = new Map<Node, number>();
  for (const node of early) {
    const start = network.addVertex();
    const end = network.addVertex();
    entry.set(node, start);
    network.addEdge(start, end, capacity(node, roles));
    if (node.op === 'placeholder' || (kept.has(node) && savedBytes(node) < Infinity))
      network.addEdge(source, start, Infinity);
  }
  for (const node of early) {
    const end = entry.get(node)! + 1;
    let isNeeded = roles.gradients.has(node);
    for (const user of node.users.keys()) {
      if (roles.backward.has(user)) isNeeded = true;
      else if (entry.has(user)) network.addEdge(end, entry.get(user)!, Infinity);
    }
    if (isNeeded) network.addEdge(end, sink, Infinity);
  }
  network.maxFlow(source, sink);
  const behind = network.sinkSide(sink);
  return new Set(
    early.filter((node) => behind[entry.get(node)!] === 0 && behind[entry.get(node)! + 1] === 1),
  );
}

function capacity(node: Node, roles: NodeRoles): number {
  const bytes = savedBytes(node);
  return bytes === Infinity ? bytes : Math.max(1, bytes) * TIE + (isInMemory(node, roles) ? 0 : 1);
}

/** Whether the forward pass writes the value to memory also if it is not saved. */
function isInMemory(node: Node, { forward }: NodeRoles): boolean {
  // A part of a larger value is copied to be saved; the larger value is there already.
  if (!forward.has(node) || isViewNode(node)) return false;
  if (node.op === 'placeholder' || recomputeKind(node) === 'expensive') return true;
  return [...node.users.keys()].some(
    (user) => user.op === 'output' || (forward.has(user) && !fusesWith(node, user)),
  );
}
