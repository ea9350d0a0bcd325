/**
 * @file Results with memory of their own, before a graph is split.
 *
 * One plan copies what it returns if that is an input, a view, or returned twice. Split, such a result has no
 * subgraph that computes it; so the copy becomes a node.
 */
import { type Argument, type Graph, Node, emitOp, mapArgument, tensorVal } from '@tessera/graph';
import { getOp } from '@tessera/tensor/internal';
import { isDense } from '../lower/shape-math.js';
import { isFree } from './free-node.js';

/** The value that an update of an input leaves: what its users read. */
function contents(node: Node): Argument {
  let value: Argument = node;
  while (value instanceof Node && isUpdate(value)) value = value.args[1];
  return value;
}

/** Whether a node stores a value into a tensor of the caller. */
export function isUpdate({ target }: Node): boolean {
  return typeof target === 'object' && target.qualifiedName === 'aten::copy_';
}

/** Copies what is returned without being computed, as it is before any input is updated. */
export function ownResults(graph: Graph): void {
  const nodes = graph.nodes;
  for (const node of nodes.filter(isUpdate))
    for (const user of [...node.users.keys()])
      user.args = user.args.map((arg) =>
        mapArgument(arg, (input) => (input === node ? contents(node) : input)),
      );
  const output = graph.outputNode!;
  const end = nodes.find((node) => isUpdate(node) && !isComputed(node.input())) ?? output;
  const returned = new Set<Node>();
  output.args = output.args.map((arg) =>
    mapArgument(arg, (node) => {
      const val = tensorVal(node);
      if (val === null || (isComputed(node) && !returned.has(node))) {
        returned.add(node);
        return node;
      }
      // An expanded value is returned as one plan would return it.
      const format = isDense(val.sizes, val.strides) ? null : 'contiguous';
      return graph.insertingBefore(end, () =>
        emitOp(graph, getOp('aten::clone'), [node, format], node.meta),
      );
    }),
  );
}

function isComputed(node: Node): boolean {
  return node.op === 'call_function' && !isFree(node);
}
