/**
 * @file `NeededOutputs`: what a backward for the gradients of chosen inputs has to run.
 *
 * Gradients matter at those outputs of nodes from which a wanted edge can be reached. Most nodes hand any gradient
 * on along all their edges; one that stands for several (a compiled function) says which outputs an edge depends on,
 * so that no hook and no single-use node runs that would not run if they were apart.
 *
 * @see PyTorch's `exec_info`
 */
import type { Tensor } from '../tensor.js';
import type { Edge, GradNode } from './grad-node.js';

/** An edge of a node, by number. */
interface Parent {
  readonly node: GradNode;
  readonly edge: number;
  /** Output of the next node that the edge leads to. */
  readonly index: number;
}

/** The edges into each node that can be reached. */
function parentsOf(roots: readonly GradNode[]): Map<GradNode, Parent[]> {
  const parents = new Map<GradNode, Parent[]>();
  const seen = new Set<GradNode>(roots);
  // A Set gives what is added meanwhile too.
  for (const node of seen)
    node.nextEdges.forEach((next, edge) => {
      if (next === null) return;
      const list = parents.get(next.node);
      const parent = { node, edge, index: next.index };
      if (list === undefined) parents.set(next.node, [parent]);
      else list.push(parent);
      seen.add(next.node);
    });
  return parents;
}

/** See the file header. */
export class NeededOutputs {
  private readonly needed = new Map<GradNode, Set<number>>();
  private readonly captured = new Map<GradNode, Set<number>>();

  constructor(roots: readonly GradNode[], wanted: readonly Edge[]) {
    const parents = parentsOf(roots);
    const open = [...wanted];
    for (const edge of wanted) add(this.captured, edge);
    for (let edge = open.pop(); edge !== undefined; edge = open.pop()) {
      for (const parent of parents.get(edge.node) ?? []) {
        if (parent.index !== edge.index) continue;
        const { node } = parent;
        for (const index of node.outputsTowards(parent.edge) ?? node.inputMetas.keys())
          if (add(this.needed, { node, index })) open.push({ node, index });
      }
    }
  }

  /** Whether a gradient along an edge is wanted, or leads to one that is. */
  readonly isWanted = ({ node, index }: Edge): boolean =>
    this.captured.get(node)?.has(index) === true || this.needed.get(node)?.has(index) === true;

  /** What arrived at a node, without what leads to nothing; null if that is all of it. */
  leadingOn(node: GradNode, grads: readonly (Tensor | null)[]): (Tensor | null)[] | null {
    const outputs = this.needed.get(node);
    if (outputs === undefined) return null;
    const leading = grads.map((grad, index) => (outputs.has(index) ? grad : null));
    return leading.some((grad) => grad !== null) ? leading : null;
  }
}

/** Notes an output; false if it was noted. */
function add(outputs: Map<GradNode, Set<number>>, { node, index }: Edge): boolean {
  const set = outputs.get(node);
  if (set === undefined) outputs.set(node, new Set([index]));
  else if (set.has(index)) return false;
  else set.add(index);
  return true;
}
