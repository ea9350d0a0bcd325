/**
 * @file Folds chains of views: a transpose of a transpose, a view of a view, a permutation of one.
 *
 * Backward formulas transpose what the forward pass transposed; one view (or none) says the same. Only
 * views of views change, and each stays a view of the same memory, so writes and aliasing do not matter.
 */
import { type Graph, type GraphModule, Node, emitOp, tensorVal } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';
import { getOp, sameNumbers, viewStrides } from '@tessera/tensor/internal';
import type { Pass } from './pass.js';
import { sameLayout } from './structural-key.js';

/** Folds chains of views; returns how many nodes it replaced. */
export function foldViews(module: GraphModule): number {
  const { graph } = module;
  let folded = 0;
  for (const node of graph.nodes) {
    const replacement = shorter(graph, node);
    if (replacement === null) continue;
    node.replaceAllUsesWith(replacement);
    graph.eraseNode(node);
    folded++;
  }
  return folded;
}

/** The pass. */
export const viewFolding: Pass = { name: 'view-folding', run: (module) => foldViews(module) > 0 };

function shorter(graph: Graph, node: Node): Node | null {
  const inner = node.args[0];
  if (!(inner instanceof Node) || !(inner.args[0] instanceof Node)) return null;
  const source = inner.args[0];
  const before = tensorVal(source);
  const after = tensorVal(node);
  if (before === null || after === null) return null;
  const isView = nameOf(node) === 'view' && nameOf(inner) === 'view';
  const dims = permutation(node, after.ndim);
  const innerDims = permutation(inner, after.ndim);
  if (!isView && (dims === null || innerDims === null)) return null;
  // The value that a graph returns stays a node of its own if it would become an input.
  if (sameLayout(before, after)) return isReturned(node) ? null : source;
  if (isView) return viewOf(graph, node, source, before, after);
  return insert(graph, node, 'aten::permute', [source, dims!.map((dim) => innerDims![dim])]);
}

function viewOf(
  graph: Graph,
  node: Node,
  source: Node,
  before: Tensor,
  after: Tensor,
): Node | null {
  const strides = viewStrides(before.sizes, before.strides, after.sizes);
  if (strides === null || !sameNumbers(strides, after.strides)) return null;
  return insert(graph, node, 'aten::view', [source, [...after.sizes]]);
}

function insert(graph: Graph, node: Node, op: string, args: Parameters<typeof emitOp>[2]): Node {
  const { val: _, ...origin } = node.meta;
  return graph.insertingBefore(node, () => emitOp(graph, getOp(op), args, origin));
}

function nameOf(node: Node): string | null {
  return typeof node.target === 'object' && node.target.isView ? node.target.schema.name : null;
}

/** The order of dimensions that a node makes, if it only reorders. */
function permutation(node: Node, ndim: number): number[] | null {
  const wrap = (dim: number): number => (dim + ndim) % ndim;
  const order = Array.from({ length: ndim }, (_, i) => i);
  switch (nameOf(node)) {
    case 'permute':
      return node.numbers(1).map(wrap);
    case 't':
      return order.reverse();
    case 'transpose': {
      const [a, b] = [wrap(node.number(1)), wrap(node.number(2))];
      [order[a], order[b]] = [order[b], order[a]];
      return order;
    }
    default:
      return null;
  }
}

function isReturned(node: Node): boolean {
  return [...node.users.keys()].some((user) => user.op === 'output');
}
