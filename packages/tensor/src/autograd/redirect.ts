/**
 * @file Redirected gradients: those for an output of a node flow to another node instead.
 *
 * Compiled code has one node for all its results. When somebody asks for what flows between them after it ran,
 * the tracer runs its ops again one by one, and gradients take the way through the nodes of those.
 */
import type { Edge, GradNode } from './grad-node.js';

/** Gradients that would flow to `from` flow to `to` from now on; so do hooks and the tensor that retains them. */
export function redirectGradients(from: Edge, to: Edge): void {
  if (from.node === to.node) return;
  (from.node.redirects ??= new Map()).set(from.index, to);
  const hooks = from.node.preHooks?.get(from.index);
  if (hooks !== undefined) {
    from.node.preHooks!.delete(from.index);
    (to.node.preHooks ??= new Map()).set(to.index, hooks);
  }
  const tensor = from.node.retained?.get(from.index);
  if (tensor !== undefined) {
    from.node.retained!.delete(from.index);
    (to.node.retained ??= new Map()).set(to.index, tensor);
  }
}

/** Where gradients that flow to an edge arrive. */
export function destination(edge: Edge): Edge {
  let at = edge;
  for (;;) {
    const next = at.node.redirects?.get(at.index);
    if (next === undefined) return at;
    at = next;
  }
}

/** Where the gradients that a node computes arrive. */
export function nextEdgesOf({ nextEdges }: GradNode): readonly (Edge | null)[] {
  for (const edge of nextEdges)
    if (edge !== null && edge.node.redirects !== null)
      return nextEdges.map((next) => (next === null ? null : destination(next)));
  return nextEdges;
}
