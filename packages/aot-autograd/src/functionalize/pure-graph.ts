/**
 * @file A graph that writes nothing, and whose results have memory of their own, is functional as it is.
 *
 * Most are: inference, and training without batch norms whose optimizer is not compiled. Nothing is built again for them.
 */
import { type GraphModule, Node, getItem, tensorVal } from '@tessera/graph';
import { inputStorages } from './epilogue.js';
import type { FunctionalGraph, FunctionalizeOptions } from './functionalize.js';

/** The graph itself, with its places in the program noted; null where it is not functional. */
export function pureGraph(
  module: GraphModule,
  { mayAlias = () => false }: Pick<FunctionalizeOptions, 'mayAlias'>,
): FunctionalGraph | null {
  const { nodes, placeholders, results } = module.graph;
  if (!nodes.every(isPure)) return null;
  const taken = inputStorages(module.graph);
  for (const [i, result] of results.entries()) {
    if (!(result instanceof Node) || results.indexOf(result) < i || mayAlias(i)) continue;
    const val = tensorVal(result);
    if (val === null) continue;
    if (taken.has(val.storage)) return null;
    taken.add(val.storage);
  }
  nodes.forEach((node, place) => {
    if (node.op === 'call_function') node.meta.programOrder = place + 1;
  });
  return {
    module,
    placeholders: new Map(placeholders.map((node) => [node, node])),
    mutated: [],
    bases: [],
  };
}

/** Whether a node gives a value and does nothing else. */
function isPure(node: Node): boolean {
  if (node.op === 'get_attr') return tensorVal(node) !== null;
  if (node.op !== 'call_function') return node.op !== 'call_module';
  const { target } = node;
  if (typeof target !== 'object') return target === getItem;
  // What strides place in memory is a view of the whole of it, and not of what it was made from.
  return (
    !target.isMutable &&
    target.qualifiedName !== 'aten::as_strided' &&
    !(target.isCustom && target.schema.isView)
  );
}
